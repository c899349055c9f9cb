"""What compares recorded steps with others notices every difference, and its clips do end by themselves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.gpu.checkpoints import make_checkpoint
from benchmarks.gpu.engines.ours import (
    OPTIONS,
    Ours,
    Spoken,
    differences,
    engine_of,
    speak,
    with_undecided_stops,
)
from benchmarks.gpu.work import clips, run
from models.voxcpm.checkpoint import load_checkpoint


def spoken(*patches: float, reason: str = "length") -> Spoken:
    return Spoken([np.full((2, 3), value, np.float32) for value in patches], reason)


def test_latents_and_endings_that_differ_are_noticed() -> None:
    same = {"a": spoken(1, 2, 3), "b": spoken(4, 5)}
    assert set(differences(same, same).values()) == {0}
    other = {"a": spoken(1, 2.5, 3), "b": spoken(4, 5, 6)}
    found = differences(same, other)
    assert found["other_endings"] == 1
    assert found["first_patch"] == 0
    assert found["second_patch"] == found["all_patches"] == pytest.approx(0.2)
    assert differences(same, {**same, "a": spoken(1, 2, 3, reason="stop")})["other_endings"] == 1
    assert differences({"a": spoken(1)}, {"a": spoken(2)})["first_patch"] == pytest.approx(0.5)


def test_undecided_stops_end_clips_at_different_patches(tmp_path: Path) -> None:
    checkpoint = load_checkpoint(make_checkpoint("tiny", tmp_path), "cpu", dtype=torch.bfloat16)
    options = dataclasses.replace(OPTIONS, max_num_seqs=8, graphs="off", max_model_len=64)
    with engine_of(checkpoint, options) as ours:
        result = run(ours, clips("short", 8, 6))
        assert {len(arrivals) for arrivals in result.arrivals.values()} == {6}
        decided = speak(ours, 8, 6)
        assert {clip.finish_reason for clip in decided.values()} == {"length"}
        with_undecided_stops(checkpoint)
        undecided = speak(ours, 8, 6)
    assert {clip.finish_reason for clip in undecided.values()} == {"length", "stop"}
    assert not hasattr(ours, "engine")


def test_a_clip_that_fails_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = load_checkpoint(make_checkpoint("tiny", tmp_path), "cpu", dtype=torch.bfloat16)
    ours = Ours(checkpoint, dataclasses.replace(OPTIONS, max_num_seqs=2, graphs="off", max_model_len=64))
    monkeypatch.setattr(ours.engine._runner, "run", lambda batch: 1 / 0)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(ours, clips("short", 1, 3))
