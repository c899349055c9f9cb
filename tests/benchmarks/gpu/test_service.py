"""The benchmark of the whole service, on a CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.gpu import service as gpu_service
from benchmarks.shared import fleet
from tests import forks


def test_listeners_are_spread_over_processes() -> None:
    assert gpu_service.shares(7, 3) == [3, 2, 2] and gpu_service.shares(2, 1) == [2]


def test_what_listeners_heard_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts: random weights speak for as long as a text allows."""
    monkeypatch.setattr(fleet, "start", forks.start_for_benchmarks)
    monkeypatch.setattr(gpu_service, "TEXTS", ("Hi.",))
    monkeypatch.setattr(gpu_service, "TOGETHER_TEXTS", ("Ho.",))
    monkeypatch.setattr(gpu_service, "CLIPS_PER_LISTENER", 2)
    monkeypatch.setattr(gpu_service, "TOGETHER_ROUNDS", 2)
    results = tmp_path / "gpu_service.json"
    shape = ["--shape", "tiny", "--device", "cpu", "--directory", str(tmp_path), "--streams", "1"]
    gpu_service.main([*shape, "--results", str(results)])
    (row,) = json.loads(results.read_text())["shapes"]["tiny"]["listeners"]
    assert row["requests"] == gpu_service.CLIPS_PER_LISTENER and row["errors"] == {}
    assert row["together"]["requests"] == gpu_service.TOGETHER_ROUNDS and row["together"]["errors"] == {}
    assert row["audio_seconds"] > 0 and min(row["cpu_ms_per_audio_second"].values()) > 0
