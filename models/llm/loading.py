"""A text engine for a worker: which models are text models, and one loaded and warmed up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.attention.selection import check_backend
from engine.device.devices import default_dtype, select_device
from engine.errors import EngineError
from models import download
from models.llm.checkpoint import TextCheckpoint, find_directory, read_config
from models.llm.engine import TextEngine, TextOptions, TextRequest
from models.llm.families import FAMILIES
from models.llm.parallel.launch import load_over_ranks
from models.llm.sampling_params import SamplingParams

Progress = Callable[[str, float], None]


def is_text_model(model: str) -> bool:
    """Whether the `config.json` of a directory, or of a repository of a hub, names a family of text models.

    A repository is downloaded for it. False for what cannot be read: who loads it says why.
    """
    directory = download.find_directory(model) or Path(model)
    if not directory.is_dir() and download.is_repository(model):
        directory = download.fetch(model)
    try:
        named = json.loads((directory / "config.json").read_text(encoding="utf-8")).get("architectures")
    except (OSError, ValueError, AttributeError):
        return False
    return isinstance(named, list) and any(isinstance(name, str) and name in FAMILIES for name in named)


def load_engine(
    model: str,
    device: str,
    max_num_seqs: int,
    progress: Progress,
    cpu_weights: str = "auto",
    tensor_parallel_size: int = 1,
    **options: Any,
) -> TextEngine:
    """cpu_weights: see `load_text_checkpoint`. tensor_parallel_size: see `load_over_ranks`. `options` are
    fields of `TextOptions`. Raises OptionsError before anything is loaded, ConfigError or
    engine.errors.WeightError naming what is wrong with the checkpoint, EngineError when it cannot write.
    """
    chosen, target = TextOptions(max_num_seqs=max_num_seqs, **options), select_device(device)
    _, config = read_config(find_directory(model))
    dtype, block_size = default_dtype(target), chosen.block_size
    check_backend(chosen.attention_backend, target, dtype, config.head_dim, block_size)
    progress("weights", 0.1)
    checkpoint = load_over_ranks(model, device, cpu_weights, tensor_parallel_size, chosen)
    progress("engine", 0.8)
    engine = make_engine(checkpoint, chosen)
    try:
        progress("warm-up", 0.9)
        _warm_up(engine)
        progress("revision", 0.95)
        _ = engine.info
    except BaseException:
        engine.close()
        raise
    return engine


def make_engine(checkpoint: TextCheckpoint, options: TextOptions) -> TextEngine:
    """Ends the ranks of the checkpoint where no engine comes of it."""
    try:
        return TextEngine(checkpoint, options)
    except BaseException:
        if checkpoint.ranks is not None:
            checkpoint.ranks.close()
        raise


def _warm_up(engine: TextEngine) -> None:
    """One short answer, so that the first real one pays for no lazy initialisation."""
    engine.add_request(TextRequest("warm-up", [0], SamplingParams(max_tokens=2, seed=0)))
    while engine.has_unfinished():
        for output in engine.step():
            if output.finish_reason == "error":
                raise EngineError(f"the engine cannot write: {output.error}")
