"""A step of VoxCPM on one GPU and over several, in one run: what tensor parallelism gives speech.

    python -m benchmarks.gpu.ranks.speech [--shape voxcpm2] [--ranks 1 2] [--streams 1 8 64] [--no-save]
    python -m benchmarks.gpu.ranks.speech --shape tiny --device cpu --streams 1 2 --no-save     does it work

Random weights of a released shape, 10 solver steps, guidance 2, short texts of a forced length
(`benchmarks.gpu.work`). For each number of ranks an engine starts anew, for as many streams as are asked for
at most. Each figure is printed as soon as it is there, then all of them are written to
benchmarks/results/speech_ranks_gpu.json. A second GPU has to buy more than a second worker, which doubles
what is spoken.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.checkpoints import DIRECTORY, SHAPES, make_checkpoint
from benchmarks.gpu.device import device_of
from benchmarks.gpu.engines.ours import OPTIONS, engine_of
from benchmarks.gpu.work import concurrency, line
from engine.device.devices import select_device
from models.voxcpm.engine import EngineOptions
from models.voxcpm.parallel.launch import load_over_ranks

RESULTS = Path(__file__).parents[2] / "results" / "speech_ranks_gpu.json"
PATCHES = 40
Figures = dict[str, Any]


def measure(
    directory: Path, device: torch.device, ranks: int, streams: list[int], options: EngineOptions
) -> Figures:
    """Seconds to an engine that is ready, and the figures of each number of streams."""
    began = time.perf_counter()
    sized = dataclasses.replace(options, max_num_seqs=max(streams))
    checkpoint = load_over_ranks(directory, device, None, "float32", ranks, sized)
    works = []
    with engine_of(checkpoint, sized) as ours:
        seconds = time.perf_counter() - began
        programs = ours.has_programs
        print(f"{ranks} ranks: ready after {seconds:.1f} s, programs: {programs}", flush=True)
        for count in streams:
            works.append(concurrency(ours, "short", count, PATCHES))
            print(f"{ranks} ranks {line(works[-1])}", flush=True)
    return {"ranks": ranks, "seconds_to_ready": seconds, "has_programs": programs, "works": works}


def main(argv: list[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where checkpoints are made")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--graphs", default="auto", choices=("auto", "off", "static"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--no-save", action="store_true", help="print only")
    chosen = parser.parse_args(argv)
    device_of(chosen.device)
    device = select_device(chosen.device)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    directory = make_checkpoint(chosen.shape, chosen.directory)
    options = dataclasses.replace(OPTIONS, graphs=chosen.graphs)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    at = datetime.now(UTC).isoformat(timespec="seconds")
    about = {"script": "python -m benchmarks.gpu.ranks.speech", "shape": chosen.shape, "device": name}
    found = about | {"torch": torch.__version__, "at": at, "runs": []}
    for ranks in chosen.ranks:
        found["runs"].append(measure(directory, device, ranks, chosen.streams, options))
        if not chosen.no_save:
            chosen.results.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
