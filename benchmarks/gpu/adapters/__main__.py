"""The command; see the package."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from benchmarks.adapter_work import RANK, TARGETS
from benchmarks.gpu import adapters
from benchmarks.gpu.adapters.measure import GOALS, SIZES, engine_of, measure
from benchmarks.gpu.checkpoints import DIRECTORY, SHAPES, make_checkpoint
from benchmarks.gpu.device import device_of


def main() -> None:
    """Print and keep the figures."""
    parser = argparse.ArgumentParser(description=adapters.__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="of random checkpoints")
    parser.add_argument("--targets", choices=tuple(TARGETS), nargs="+", default=["attention"])
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    device = device_of(chosen.device)
    sizes = SIZES[device.type]
    began = time.perf_counter()
    checkpoint = make_checkpoint(chosen.shape, chosen.directory)
    only_steps = chosen.targets != ["attention"]  # a thousand decoders would fill the device
    engine = engine_of(checkpoint, device, sizes, "all" if only_steps else "attention")
    print(f"engine ({time.perf_counter() - began:.0f} s)", flush=True)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    table = {"shape": chosen.shape, "device": name, "rank": RANK, "targets": chosen.targets, "goals": GOALS}
    for targets in chosen.targets:
        found = measure(engine, TARGETS[targets], sizes, lambda line: print(line, flush=True), only_steps)
        table |= {targets: found} if only_steps else found
    engine.close()
    print(json.dumps(table))
    if chosen.json:
        chosen.json.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
