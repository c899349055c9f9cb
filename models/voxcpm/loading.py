"""A speech engine for a worker or for Python: a checkpoint loaded, an engine on it, warmed up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.attention.selection import check_backend
from engine.device.devices import default_dtype, select_device
from engine.errors import OptionsError
from models.bounds import Bounds, check_known
from models.voxcpm.checkpoint import Checkpoint, Progress, read_config, resolve_model
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.options import ADAPTER_SLOTS, EngineOptions
from models.voxcpm.parallel.launch import load_over_ranks

_SLOTS = Bounds(0, whole=True)


def load_engine(
    model: str | Path,
    device: str = "auto",
    max_num_seqs: int = 8,
    progress: Progress | None = None,
    cpu_weights: str = "float32",
    tensor_parallel_size: int = 1,
    adapter_slots: int | None = None,
    **options: Any,
) -> VoxCPMEngine:
    """Load a checkpoint ("bundled", a directory or a hub id) and put an engine on it, warmed up.

    cpu_weights: see `load_checkpoint`. tensor_parallel_size: over how many processes every layer is shared
    out, on a GPU each. adapter_slots: see `EngineOptions`; with 0 a GPU takes no adapters. None is 8, and
    none over several ranks. `options` are other fields of `EngineOptions`. Raises OptionsError and
    RequestError before anything is loaded, ConfigError or WeightError naming what is wrong with the
    checkpoint, EngineError when it cannot speak.
    """
    target = select_device(device)
    chosen = choose_options(target.type, max_num_seqs, tensor_parallel_size, adapter_slots, **options)
    directory = resolve_model(model, progress)
    head_dim = read_config(directory).lm_config.head_dim
    check_backend(chosen.attention_backend, target, default_dtype(target), head_dim, chosen.block_size)
    checkpoint = load_over_ranks(directory, target, progress, cpu_weights, tensor_parallel_size, chosen)
    engine = make_engine(checkpoint, chosen, progress)
    try:
        if progress:
            progress("warm-up", 0.95)
        engine.warm_up()
        if progress:
            progress("ready", 1.0)
    except BaseException:
        engine.close()
        raise
    return engine


def choose_options(
    device: str,
    max_num_seqs: int,
    tensor_parallel_size: int = 1,
    adapter_slots: int | None = None,
    **options: Any,
) -> EngineOptions:
    """The options that `load_engine` takes for a device of this type. Raises OptionsError."""
    if adapter_slots is None and tensor_parallel_size == 1:
        adapter_slots = ADAPTER_SLOTS
    if adapter_slots is not None and not _SLOTS.hold(adapter_slots):
        raise OptionsError(f"adapter_slots must be {_SLOTS}, got {adapter_slots!r}")
    options["adapter_slots"] = adapter_slots or None
    check_known(options, EngineOptions)
    chosen = EngineOptions(max_num_seqs=max_num_seqs, **options)
    chosen.batched_tokens(device)
    return chosen


def make_engine(
    checkpoint: Checkpoint, options: EngineOptions, progress: Progress | None = None
) -> VoxCPMEngine:
    """Ends the ranks of the checkpoint where no engine comes of it."""
    try:
        return VoxCPMEngine(checkpoint, options, progress=progress)
    except BaseException:
        if checkpoint.ranks is not None:
            checkpoint.ranks.close()
        raise
