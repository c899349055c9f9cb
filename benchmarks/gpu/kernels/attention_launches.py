"""Other ways to launch the Triton attention kernels than the built-in ones, measured on a GPU.

    python3 -m benchmarks.gpu.kernels.attention_launches --json FILE [--block-size 16] [--heads 32 8 --text]

For decodes, splits and tile are varied one after the other, keeping the best so far; for prefills, rows per
tile, warps and loads in flight. Each line shows what the default takes, what the best found takes, and which
launch that is: a default that loses everywhere belongs changed in
`engine/attention/triton_backend/backend.py`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from triton.runtime.errors import OutOfResources

from benchmarks.gpu.device import device_of
from benchmarks.gpu.kernels.attention import HEAD_DIM, HEADS, machine, steps
from engine.attention import AttentionBatch
from engine.attention.measure import seconds_per_layer
from engine.attention.triton_backend.backend import Launch, TritonBackend

DECODE_CHOICES = {
    "ahead": (False, True),
    "num_splits": (1, 2, 4, 8, 16, 32, 64),
    "decode_tile": (16, 32),
}
PREFILL_CHOICES = {
    "prefill_rows": (32, 64, 128),
    "tile": (32, 64, 128),
    "prefill_warps": (2, 4, 8),
    "prefill_stages": (2, 3, 4),
}


Heads = tuple[int, int]


def seconds(
    launch: Launch, batch: AttentionBatch, block_size: int, heads: Heads, device: torch.device
) -> float:
    """Time of one layer; infinite where the launch does not fit the device."""
    backend = TritonBackend(device, torch.bfloat16, block_size, launch)
    try:
        return seconds_per_layer(backend, batch, device, torch.bfloat16, HEAD_DIM, block_size, heads)
    except OutOfResources as error:
        print(f"  {launch}: {error}", flush=True)
        return float("inf")


def text_steps() -> Iterator[tuple[str, AttentionBatch]]:
    """Decodes of answers of unequal length, as many as `benchmarks.llm` has at once."""
    for rows in (8, 64, 128, 256):
        starts = [200 + 1600 * row // rows for row in range(rows)]
        yield f"decode {rows} x 200 to 1800", AttentionBatch(starts, [1] * rows, [[]] * rows)


def best_launch(
    batch: AttentionBatch,
    block_size: int,
    heads: Heads,
    device: torch.device,
    fields: list[str] | None = None,
) -> tuple[Launch, float, float]:
    """The best launch found, its time and that of the default."""
    choices = DECODE_CHOICES if batch.num_leading_decodes else PREFILL_CHOICES
    best = Launch()
    default = shortest = seconds(best, batch, block_size, heads, device)
    for field, values in choices.items():
        if fields and field not in fields:
            continue
        for value in values:
            launch = dataclasses.replace(best, **{field: value})
            if launch == best:
                continue
            time = seconds(launch, batch, block_size, heads, device)
            print(f"  {name_of(launch)} {time * 1e6:.2f} us", flush=True)
            if time < shortest:
                best, shortest = launch, time
    return best, shortest, default


def name_of(launch: Launch) -> dict[str, Any]:
    """What of it is not the default."""
    values = dataclasses.asdict(launch).items()
    return {field: value for field, value in values if value != getattr(Launch(), field)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="where the results go")
    parser.add_argument("--block-size", type=int, default=16)
    parser.add_argument("--heads", type=int, nargs=2, default=list(HEADS), help="of queries and of keys")
    parser.add_argument("--text", action="store_true", help="decodes of text models")
    parser.add_argument("--fields", nargs="+", help="what of a launch is varied; all there is")
    arguments = parser.parse_args()
    device = device_of()
    report: dict[str, Any] = {"machine": machine(device), "block_size": arguments.block_size, "steps": []}
    heads = (arguments.heads[0], arguments.heads[1])
    for name, batch in text_steps() if arguments.text else steps():
        launch, time, default = best_launch(batch, arguments.block_size, heads, device, arguments.fields)
        changed = name_of(launch)
        print(f"{name:24} default {default * 1e6:8.2f} us, best {time * 1e6:8.2f} us {changed}", flush=True)
        report["steps"].append(
            {
                "step": name,
                "default_microseconds": default * 1e6,
                "best_microseconds": time * 1e6,
                "best": changed,
            }
        )
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
