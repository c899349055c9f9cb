"""Trainings of a few steps, and what is to be found of their adapters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from models.voxcpm import VoxCPM
from models.voxcpm.finetuning import run
from models.voxcpm.finetuning.options import FinetuneOptions
from models.voxcpm.finetuning.trainer import Schedule

CHECKPOINT = Path(__file__).parents[2] / "parity" / "tiny_v2"


def options(**changes: Any) -> FinetuneOptions:
    given = {
        "base": str(CHECKPOINT),
        "device": "cpu",
        "threads": 1,
        "batch_positions": 512,
        "rank": 4,
        "steps": 12,
    }
    return FinetuneOptions(**given | changes)


def hasten(patch: pytest.MonkeyPatch, sentences: int = 1, **intervals: int) -> None:
    """Validate and keep after a few steps, save after every one, and speak so many samples."""
    patch.setattr("models.voxcpm.finetuning.samples.SENTENCES", sentences)
    fields = {"validate_every": 4, "keep_every": 8} | intervals
    patch.setattr(run, "Schedule", lambda *given, **more: Schedule(*given, **fields | more))
    patch.setattr("models.voxcpm.finetuning.trainer.SAVE_EVERY_SECONDS", 0.0)


def whole_run(
    recordings: Path, out: Path, sentences: int = 1, **changes: Any
) -> tuple[Path, list[dict[str, Any]]]:
    """Its folder, and what it told."""
    events: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        hasten(patch, sentences)
        run.finetune(recordings, out, options(**changes), events.append)
    return out, events


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "lora_weights.safetensors")


def check_same_weights(one: Path, other: Path) -> None:
    expected, found = weights(one), weights(other)
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def check_heard(out: Path) -> int:
    """The adapter changes how a clip sounds; returns its rank."""
    with VoxCPM.from_pretrained(str(CHECKPOINT), "cpu", silence_guard=False) as voice:
        rank = voice.load_lora(out, "anna").rank
        clip = {"seed": 1, "min_seconds": 0.1, "max_seconds": 0.1}
        plain, adapted = (voice.synthesize("hello world", lora=lora, **clip) for lora in ("", "anna"))
    assert adapted.shape == plain.shape and abs(adapted - plain).max() > 1e-3
    return rank
