"""Starts the ranks of a speech model and loads rank 0's part, see `engine.parallel.launch`."""

from __future__ import annotations

from pathlib import Path

import torch

from engine.parallel.launch import check_options, load_in_parts
from engine.parallel.part import Part
from models.voxcpm.checkpoint import Checkpoint, Progress, load_checkpoint, plan_network
from models.voxcpm.options import EngineOptions

MODULE = "models.voxcpm.parallel.rank"
ONLY = (("kv_host_gib", 0), ("adapter_slots", None))
"""Options that several ranks have no other value of: the second tier of the cache, and adapters."""


def load_over_ranks(
    directory: Path,
    device: torch.device,
    progress: Progress | None,
    cpu_weights: str,
    tensor_parallel_size: int,
    options: EngineOptions,
) -> Checkpoint:
    """`load_checkpoint`, over so many ranks; whoever has the checkpoint closes its `ranks`.

    options: of the engine that is to have it. Raises as that does, RequestError where the model or the GPUs
    cannot be divided so, DeviceLostError when a rank fails.
    """
    size = Part(size=tensor_parallel_size).size
    if size == 1:
        return load_checkpoint(directory, str(device), progress=progress, cpu_weights=cpu_weights)
    check_options(options, ONLY)
    plan_network(directory, Part(0, size))
    told = {"model": str(directory.resolve()), "cpu_weights": cpu_weights}
    checkpoint, checkpoint.ranks = load_in_parts(
        MODULE,
        size,
        device,
        told,
        options.threads,
        lambda own, dtype, part: load_checkpoint(
            directory, own, dtype, progress, cpu_weights=cpu_weights, part=part
        ),
    )
    return checkpoint
