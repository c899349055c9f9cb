"""Whole runs of the GPU benchmark where there is no GPU."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks.gpu.engines import scenarios
from benchmarks.gpu.ranks import speech
from models.voxcpm import engine as voxcpm_engine
from models.voxcpm.programs.step_programs import ProgramPlan
from tests.benchmarks.gpu.stand_ins import figures


def arguments(tmp_path: Path, *more: str) -> list[str]:
    sizes = "--streams 1,2 --texts short --patches 4 --graph-sizes 2 --profiled 2 --low 1 --most 2"
    here = ["--shape", "tiny", "--device", "cpu", "--directory", str(tmp_path), "--results"]
    return [*here, str(tmp_path / "gpu.json"), *sizes.split(), "--ramp-seconds", "0.05", *more]


def test_a_run_of_the_scenarios_on_the_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scenarios.main(["concurrency", "profile", "real_time", *arguments(tmp_path)]) == 0
    saved = json.loads((tmp_path / "gpu.json").read_text())["scenarios"]
    assert set(saved) == {"tiny/concurrency", "tiny/profile", "tiny/real_time"}
    assert [row["streams"] for row in saved["tiny/concurrency"]["works"]] == [1, 2]
    assert all(row["times_the_floor"] > 0 for row in saved["tiny/concurrency"]["works"])
    assert saved["tiny/concurrency"]["machine"]["copy_bytes_per_second"] > 0
    assert (tmp_path / "gpu_profile_tiny_2.txt").read_text().startswith("2 streams")
    ElementTree.fromstring((tmp_path / "gpu.tiny.svg").read_text())
    assert "ours    2 x short" in capsys.readouterr().out


def test_results_may_go_to_a_new_folder(tmp_path: Path) -> None:
    file = tmp_path / "new" / "gpu.json"
    assert scenarios.main(["profile", *arguments(tmp_path), "--results", str(file)]) == 0
    assert "tiny/profile" in json.loads(file.read_text())["scenarios"]


@pytest.mark.timeout(300)
def test_programs_and_free_steps_agree_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By short chunks: Triton's interpreter takes as long for a row that nobody needs as for any other."""
    short = functools.partial(ProgramPlan, text_chunks=((1, 16), (2, 32)), audio_chunks=((1, 16),))
    monkeypatch.setattr(voxcpm_engine, "ProgramPlan", short)
    options = ["--attention", "triton", "--max-model-len", "48"]
    assert scenarios.main(["graphs", *arguments(tmp_path, *options)]) == 0
    worst = json.loads((tmp_path / "gpu.json").read_text())["scenarios"]["tiny/graphs"]["worst"]
    assert worst["unrecorded_all_patches"] == 0 and worst["unrecorded_other_endings"] == 0
    assert 0 <= worst["free_first_patch"] < 0.05
    assert 0 < worst["rounding_first_patch"] < 0.5


def test_a_scenario_that_fails_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(bench: scenarios.Bench) -> dict[str, Any]:
        raise ValueError("no")

    monkeypatch.setitem(scenarios.SCENARIOS, "graphs", fail)
    monkeypatch.setitem(scenarios.SCENARIOS, "profile", lambda bench: {"files": []})
    assert scenarios.main(["graphs", "profile", *arguments(tmp_path)]) == 1
    assert set(json.loads((tmp_path / "gpu.json").read_text())["scenarios"]) == {"tiny/profile"}


def test_a_peer_that_is_not_there_fails_and_replaces_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = {"scenarios": {"tiny/peer": {"works": [figures("short", 1, 1)], "ratios": []}}}
    (tmp_path / "gpu.json").write_text(json.dumps(measured))
    monkeypatch.setitem(scenarios.SCENARIOS, "concurrency", lambda bench: {"works": []})
    assert scenarios.main(["concurrency", *arguments(tmp_path, "--peer")]) == 1
    saved = json.loads((tmp_path / "gpu.json").read_text())["scenarios"]
    assert saved["tiny/peer"] == measured["scenarios"]["tiny/peer"]
    assert "failed: peer" in capsys.readouterr().out


def test_start_up_is_measured_in_a_process_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--only-start-up", "--start-up-seqs", "2"]
    assert scenarios.main(["start_up", *arguments(tmp_path, *more)]) == 0
    result = json.loads(capsys.readouterr().out.rsplit(scenarios.MARK, 1)[1])
    assert result["seconds_to_ready"] == pytest.approx(sum(result["stages"].values()))
    assert result["max_num_seqs"] == 2


def test_start_up_is_measured_with_and_without_compiled_kernels(tmp_path: Path) -> None:
    assert scenarios.main(["start_up", *arguments(tmp_path, "--start-up-seqs", "2")]) == 0
    first = json.loads((tmp_path / "gpu.json").read_text())["scenarios"]["tiny/start_up"]
    assert first["seconds_to_ready"] > 0 and first["later"].keys() < first.keys()


def test_ranks_of_speech_are_measured_beside_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "PATCHES", 4)
    arguments = ["--shape", "tiny", "--device", "cpu", "--streams", "2", "--directory", str(tmp_path)]
    speech.main([*arguments, "--results", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert [run["ranks"] for run in found["runs"]] == [1, 2]
    assert all(run["works"][0]["rows_of_fullest_step"] == 2 for run in found["runs"])
