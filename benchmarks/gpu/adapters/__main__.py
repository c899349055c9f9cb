"""The command; see the package."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu import adapters
from benchmarks.gpu.adapters.measure import DIFFERENT, GOALS, SIZES, engine_of, measure
from benchmarks.gpu.adapters.peer import measure_in_children
from benchmarks.gpu.checkpoints import DIRECTORY, SHAPES, make_checkpoint
from benchmarks.gpu.device import device_of
from benchmarks.shared.adapter_work import RANK, TARGETS, Sizes, random_adapter
from models.lora.files import write_adapter
from models.voxcpm.checkpoint import read_config


def by_peer(checkpoint: Path, directory: Path, sizes: Sizes, timeout: float) -> dict[str, Any]:
    """Steps of the peer with adapters of the same layers, which are written to `directory`."""
    config = read_config(checkpoint)
    told = {"enable_lm": True, "enable_dit": True, "enable_proj": False, "r": RANK, "alpha": RANK}
    for number in range(DIFFERENT):
        write_adapter(directory / str(number), random_adapter(config, TARGETS["attention"], number), told)
    return measure_in_children(
        checkpoint, directory, [1, sizes.streams], sizes.slots, sizes.different, timeout
    )


def main() -> None:
    """Print and keep the figures."""
    parser = argparse.ArgumentParser(description=adapters.__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="of random checkpoints")
    parser.add_argument("--targets", choices=tuple(TARGETS), nargs="+", default=["attention"])
    parser.add_argument("--only-steps", action="store_true", help="1 alone")
    parser.add_argument("--peer", action="store_true", help="1 by the peer, too, before ours")
    parser.add_argument(
        "--peer-seconds", type=float, default=240.0, help="after which each of its runs is ended"
    )
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    device = device_of(chosen.device)
    sizes = SIZES[device.type]
    began = time.perf_counter()
    checkpoint = make_checkpoint(chosen.shape, chosen.directory)
    attention_alone = chosen.targets == ["attention"]
    only_steps = chosen.only_steps or not attention_alone  # a thousand decoders would fill the device
    of_peer = {}
    if chosen.peer:  # before ours takes the device's memory
        folder = chosen.directory / "adapters"
        of_peer = {"peer": by_peer(checkpoint, folder, sizes, chosen.peer_seconds)}
    engine = engine_of(checkpoint, device, sizes, "attention" if attention_alone else "all")
    print(f"engine ({time.perf_counter() - began:.0f} s)", flush=True)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    table = {"shape": chosen.shape, "device": name, "rank": RANK, "targets": chosen.targets, "goals": GOALS}
    for targets in chosen.targets:
        found = measure(engine, TARGETS[targets], sizes, lambda line: print(line, flush=True), only_steps)
        table |= found if attention_alone else {targets: found}
    engine.close()
    table |= of_peer
    print(json.dumps(table))
    if chosen.json:
        chosen.json.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
