"""Starts the ranks of a speech model and loads rank 0's part, see `engine.parallel.launch`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from engine.parallel.launch import check_options, load_in_parts
from engine.parallel.part import Part
from models.voxcpm.checkpoint import Checkpoint, Progress, load_checkpoint, plan_network
from models.voxcpm.kv_sizing import default_blocks
from models.voxcpm.options import EngineOptions
from models.voxcpm.parallel.leader import LeadingRunner

if TYPE_CHECKING:
    from models.voxcpm.runner import NoiseSource

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


def blocks_of_all(checkpoint: Checkpoint, options: EngineOptions, max_model_len: int) -> int:
    """`default_blocks` that all ranks have room for, where there are several."""
    own = checkpoint.device, checkpoint.dtype, checkpoint.part
    blocks = default_blocks(checkpoint.config, options, max_model_len, *own)
    if checkpoint.ranks is None:
        return blocks
    checkpoint.ranks.tell({"options": asdict(options), "max_model_len": max_model_len})
    return min(blocks, *checkpoint.ranks.answers())


def make_leader(checkpoint: Checkpoint, noise: NoiseSource, sizes: Mapping[str, Any]) -> LeadingRunner:
    """Rank 0's runner, while the others make theirs. sizes: of `VoxCPMRunner`, the same on all ranks."""
    own = checkpoint.model, checkpoint.vae
    runner = LeadingRunner(checkpoint.ranks, *own, **sizes, noise=noise, part=checkpoint.part)
    checkpoint.ranks.tell({"build": {**sizes, "attention_backend": runner.attention_backend}})
    checkpoint.ranks.answers()
    return runner
