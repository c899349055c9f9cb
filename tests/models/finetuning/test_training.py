"""Fine-tuning learns, survives a kill without a difference, ends with its best, writes what others read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.shared.published import load_published
from engine.cpu.thread_choice import ThreadChoice
from engine.errors import OptionsError
from models.voxcpm import VoxCPM
from models.voxcpm.finetuning import run
from models.voxcpm.finetuning.fingerprint import STATE
from models.voxcpm.finetuning.options import DEFAULT_RANK
from models.voxcpm.finetuning.pace import RECENT_STEPS, Pace
from models.voxcpm.finetuning.recordings.dataset import DatasetError, OtherRunError
from models.voxcpm.finetuning.run import finetune
from tests.models.finetuning.short_runs import (
    CHECKPOINT,
    check_heard,
    check_same_weights,
    hasten,
    options,
    whole_run,
)
from tests.parity import adapters


@pytest.fixture(autouse=True)
def hastened(monkeypatch: pytest.MonkeyPatch) -> None:
    hasten(monkeypatch)


@pytest.fixture(scope="module")
def trained(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    return whole_run(recordings, tmp_path_factory.mktemp("out") / "anna", sentences=2)


def test_validation_gets_better_and_the_best_is_written(trained: tuple[Path, list[dict[str, Any]]]) -> None:
    out, events = trained
    validated = {event["step"]: event["loss"] for event in events if event["state"] == "validated"}
    assert list(validated) == [0, 4, 8, 12] and min(validated.values()) < 0.95 * validated[0]
    written = events[-1]
    paces = [event for event in events if event["state"] == "training"]
    assert [event["step"] for event in paces] == list(range(1, 13))  # each, where 30 s are over after each
    for event in paces:
        assert event["seconds_left"] == (12 - event["step"]) * event["seconds_a_step"] >= 0
        assert 0 < event["cpu_share"] <= 1
    assert written["loss"] == min(validated.values()) == validated[written["step"]]
    journal = [json.loads(line) for line in (out / "work" / "progress.jsonl").read_text().splitlines()]
    shares = [entry for entry in journal if "share" in entry]
    assert [entry for entry in journal if "share" not in entry] == [e for e in events if "share" not in e]
    assert {entry["state"] for entry in shares} == {"examining", "encoding"}
    assert all(0 < entry["cpu_share"] <= 1 for entry in shares)


def test_checkpoints_have_samples_and_the_packages_layout(trained: tuple[Path, list[dict[str, Any]]]) -> None:
    out, _ = trained
    kept = out / "step_0000008"
    assert {file.name for file in kept.iterdir()} == {
        "lora_weights.safetensors",
        "lora_config.json",
        "samples",
    }
    assert {file.name for file in (out / "samples").glob("*.wav")} == {"1.wav", "2.wav"}
    theirs = load_published(CHECKPOINT)
    adapters.adapt(theirs, **json.loads((out / "lora_config.json").read_text())["lora_config"])
    loaded, skipped = theirs.load_lora_weights(str(out))
    assert not skipped and sorted(loaded) == sorted(theirs.get_lora_state_dict())


def test_what_was_trained_speaks(trained: tuple[Path, list[dict[str, Any]]]) -> None:
    assert check_heard(trained[0]) == 4


def test_a_run_that_was_cut_goes_on_as_if_it_had_not_been(
    trained: tuple[Path, list[dict[str, Any]]], recordings: Path, tmp_path: Path
) -> None:
    out, events, stops = tmp_path / "anna", [], iter([False] * 5 + [True])
    cut = finetune(recordings, out, options(), lambda event: None, stopping=lambda: next(stops))
    assert cut.standing.step == 6
    finetune(recordings, out, options(), events.append)
    assert [event["step"] for event in events if event["state"] == "resumed"] == [6]
    check_same_weights(trained[0], out)


def test_other_recordings_or_options_or_a_damaged_state_do_not_go_on_with_a_run(
    recordings: Path, tmp_path: Path
) -> None:
    finetune(recordings, tmp_path / "anna", options(steps=1), lambda event: None)
    with pytest.raises(DatasetError, match="other recordings or options"):
        finetune(recordings, tmp_path / "anna", options(steps=2), lambda event: None)
    state, events = tmp_path / "anna" / "work" / STATE, []
    state.write_bytes(state.read_bytes()[:1000])
    with pytest.raises(OtherRunError, match="what anna has learnt cannot be gone on with"):
        finetune(recordings, tmp_path / "anna", options(steps=1), events.append)
    assert (events[-1]["state"], events[-1]["outdated"]) == ("refused", True)


def test_a_run_ends_when_nothing_gets_better(
    recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch, validate_every=4, keep_every=99, patience=1)
    result = finetune(recordings, tmp_path / "anna", options(steps=50, learning_rate=0.1), lambda event: None)
    standing = result.standing
    assert standing.step == standing.best_step + 4 < 50


def test_threads_follow_what_other_programs_leave(
    recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []

    class Crowded(ThreadChoice):
        def observe(self, *seconds: float) -> None:
            used.append(torch.get_num_threads())
            self.threads = 1

    monkeypatch.setattr(run, "ThreadChoice", lambda limit: Crowded(2))
    before = torch.get_num_threads()
    finetune(recordings, tmp_path / "anna", options(steps=3, threads=None), lambda event: None)
    assert used == [2, 1, 1] and torch.get_num_threads() == before


def test_all_weights_can_be_trained_into_a_checkpoint(recordings: Path, tmp_path: Path) -> None:
    out = tmp_path / "anna"
    result = finetune(recordings, out, options(method="full", rank=DEFAULT_RANK, steps=4), lambda event: None)
    assert result.standing.best_loss < result.standing.first_loss
    with VoxCPM.from_pretrained(str(out), "cpu") as voice:
        assert voice.info.name == "anna"
        assert len(voice.synthesize("hello world", seed=1, max_seconds=0.1)) > 0
    before, after = load_file(CHECKPOINT / "model.safetensors"), load_file(out / "model.safetensors")
    assert before.keys() == after.keys()
    moved = [name for name in before if not torch.equal(before[name], after[name])]
    assert len(moved) > 0.8 * len(before)


@pytest.mark.parametrize("decoder", [None, False])
def test_a_rank_of_nothing_is_refused(recordings: Path, tmp_path: Path, decoder: bool | None) -> None:
    with pytest.raises(OptionsError, match="this run has neither"):
        given = options(method="full", rank=8, decoder=decoder)
        finetune(recordings, tmp_path / "anna", given, lambda event: None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rank": 129}, "rank must be between 1 and 128"),
        ({"method": "magic"}, "method must be one of lora, full"),
        ({"learning_rate": 2.0}, "learning_rate"),
        ({"batch_positions": 8}, "batch_positions"),
        ({"steps": 0}, "steps"),
        ({"alpha": 0}, "alpha must be between 1 and 1024"),
        ({"alpha": -5}, "alpha must be between 1 and 1024"),
        ({"method": "full", "alpha": 16}, "alpha and strength are of adapters"),
        ({"method": "full", "strength": 0.5}, "alpha and strength are of adapters"),
        ({"threads": -1}, "threads must be between 1 and 1024"),
        ({"threads": 0}, "threads must be between 1 and 1024"),
        ({"seed": -1}, "seed must be between 0 and 4294967295"),
    ],
)
def test_options_out_of_range_are_named(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        options(**change)


def test_the_pace_is_that_of_late_and_says_what_share_of_it_had_a_cpu() -> None:
    now, computed = iter(range(0, 3000, 10)), iter(range(3000))
    pace = Pace(lambda: float(next(now)), lambda: float(next(computed)))
    assert (pace.seconds_a_step, pace.cpu_share) == (0.0, 1.0)
    for _ in range(200):
        pace.step()
    assert (pace.seconds_a_step, pace.cpu_share) == (10.0, 0.1)
    times = iter([0.0, 1000.0, *(1000.0 + step for step in range(1, RECENT_STEPS + 1))])
    pace = Pace(lambda: next(times), lambda: 0.0)
    for _ in range(RECENT_STEPS + 1):
        pace.step()
    assert pace.seconds_a_step == 1.0
