"""Steps with and without what products of many rows do to be fast.

    python -m benchmarks.gpu.many_rows [--without tiles spare_rows] [--shape voxcpm2] [--json FILE]
    python -m benchmarks.gpu.many_rows --shape tiny --device cpu --streams 1 2       does it work

Without `spare_rows`: no rows to spare for the matrix library (`engine.kernels.linear.spare_rows`).
Without `tiles`: all by the library, and gates behind their products (`engine.kernels.linear.tiled_linear`).
An engine without and one with them follow each other, twice. Prints the median milliseconds of a step.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.checkpoints import DIRECTORY, SHAPES, make_checkpoint
from benchmarks.gpu.device import device_of
from benchmarks.gpu.kernels.linear.spare_rows import none_to_spare
from benchmarks.gpu.kernels.linear.tiles import no_tiles
from benchmarks.shared.adapter_work import step_seconds
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine

STREAMS = (24, 28, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128)
TURNS = 2
WITHOUT = {"spare_rows": none_to_spare, "tiles": no_tiles}


def steps_ms(checkpoint: Path, device: torch.device, streams: Sequence[int]) -> list[float]:
    """Median milliseconds of a step, by how many streams there are."""
    cuda = device.type == "cuda"
    options = EngineOptions(
        max_num_seqs=max(streams), max_model_len=1024 if cuda else 128, silence_guard=False, ratio_cap=False,
        enable_prefix_caching=False, attention_backend="triton" if cuda else "auto",
        graphs="auto" if cuda else "off", typical_seconds=30.0,
    )  # fmt: skip
    dtype = torch.bfloat16 if cuda else None
    engine = VoxCPMEngine(load_checkpoint(checkpoint, str(device), dtype=dtype), options)
    found = []
    for count in streams:
        step_seconds(engine, [None] * count, time.perf_counter)  # warm
        seconds = statistics.median(step_seconds(engine, [None] * count, time.perf_counter))
        found.append(round(1e3 * seconds, 3))
    engine.close()
    return found


def compare(
    checkpoint: Path,
    device: torch.device,
    streams: Sequence[int],
    without: Callable[[], AbstractContextManager[None]],
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"streams": count, "without_ms": [], "with_ms": []} for count in streams]
    for _ in range(TURNS):
        for kind in ("without", "with"):
            with without() if kind == "without" else nullcontext():
                taken = steps_ms(checkpoint, device, streams)
            for row, milliseconds in zip(rows, taken, strict=True):
                row[f"{kind}_ms"].append(milliseconds)
    return rows


@contextmanager
def without_all(names: Sequence[str]) -> Iterator[None]:
    """None of what the names in WITHOUT stand for."""
    with ExitStack() as left_out:
        for name in names:
            left_out.enter_context(WITHOUT[name]())
        yield


def main() -> None:
    """Print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--without", choices=sorted(WITHOUT), nargs="+", default=["tiles"])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="of random checkpoints")
    parser.add_argument("--streams", type=int, nargs="+", default=STREAMS)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    device = device_of(chosen.device)
    checkpoint = make_checkpoint(chosen.shape, chosen.directory)
    rows = compare(checkpoint, device, chosen.streams, lambda: without_all(chosen.without))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    found = {"without": chosen.without, "shape": chosen.shape, "device": name, "torch": torch.__version__}
    found |= {"steps": rows}
    print(json.dumps(found))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
