"""The command that trains a voice: what it writes, what it says, how it is stopped."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from engine.errors import OptionsError, RequestError
from gateway.files.folder_lock import FolderLock
from models.voxcpm.finetuning.journal import Report
from models.voxcpm.finetuning.run import Finetuned
from models.voxcpm.finetuning.trainer import Standing
from tests.models.finetuning.conftest import WORDS, voiced, write
from voxfleet.cli import app
from voxfleet.commands.finetune import Method, alone_in, how_to_serve, line_of, stopped_by_signals

CHECKPOINT = Path(__file__).parents[2] / "parity" / "tiny_v2"
FAST = [
    "--base",
    str(CHECKPOINT),
    "--device",
    "cpu",
    "--threads",
    "1",
    "--rank",
    "2",
    "--batch-positions",
    "512",
]


def test_a_folder_of_recordings_becomes_an_adapter(tmp_path: Path) -> None:
    for number in range(15):
        write(tmp_path / "data", f"clip{number}", voiced(2.2, seed=number), WORDS * 2)
    command = ["finetune", str(tmp_path / "data"), "--name", "anna", "--out", str(tmp_path), *FAST]
    result = CliRunner().invoke(app, [*command, "--steps", "2"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "anna" / "lora_config.json").is_file()
    for words in (
        "15 recordings, 0.6 minutes of speech",
        "validation loss",
        "note: 36 s are little",
        "adapters -F name=anna",
    ):
        assert words in result.output
    again = CliRunner().invoke(app, [*command, "--steps", "3"])
    assert again.exit_code == 1 and "other recordings or options" in again.stderr


def test_recordings_are_examined_without_a_training(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for number in range(15):
        write(data, f"clip{number}", voiced(2.2, seed=number), WORDS * 2)
    command = ["finetune", str(data), "--check", "--out", str(tmp_path), *FAST]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    assert "15 recordings, 0.6 minutes of speech" in found.output and "note: 36 s are little" in found.output
    write(data, "short", voiced(0.3, seed=0), "Hello.")
    (data / "broken.wav").write_bytes(b"no audio")
    (data / "broken.txt").write_text("Hello.")
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 1
    assert "cannot be read as audio" in found.output and "shorter than a second" in found.output
    assert "15 recordings" in found.output
    assert [path.name for path in tmp_path.iterdir()] == ["data"], "it writes nothing"


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        ([], 2, "--name is the name of a folder"),
        (["--name", "anna"], 1, "no recording with a transcript"),
        (["--name", "anna", "--device", "cuda"], 1, "sees no CUDA device here"),
        (["--name", ".."], 2, "without / in it"),
        (["--name", "a/b"], 2, "without / in it"),
        (["--name", "anna", "--rank", "200"], 2, "rank must be between 1 and 128"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, arguments: list[str], status: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("voxfleet.processes.devices.visible_gpus", list)
    (tmp_path / "data").mkdir()
    result = CliRunner().invoke(app, ["finetune", str(tmp_path / "data"), "--out", str(tmp_path), *arguments])
    assert result.exit_code == status and reason in result.stderr


def test_a_folder_has_one_training_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was told to stop is still ending while the same command is given again."""
    work = tmp_path / "anna" / "work"
    work.mkdir(parents=True)
    held = FolderLock(work / "lock")
    assert held.acquire()
    monkeypatch.setattr("models.voxcpm.finetuning.run.finetune", lambda *given: pytest.fail("began"))
    command = ["finetune", str(tmp_path), "--name", "anna", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1 and "anna is being trained by another process" in result.stderr
    held.release()


def test_a_training_whose_folder_is_removed_writes_nothing_into_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, took_step = tmp_path / "anna", []

    def removed(*given: Any) -> None:
        stopping = given[-1]
        assert not stopping()
        shutil.rmtree(folder)
        with alone_in(folder):  # as another training that begins
            took_step.append(stopping())

    monkeypatch.setattr("models.voxcpm.finetuning.run.finetune", removed)
    result = CliRunner().invoke(app, ["finetune", str(tmp_path), "--name", "anna", "--out", str(tmp_path)])
    assert (result.exit_code, result.stderr) == (1, "error: anna was removed while it was trained\n")
    assert took_step == []


@pytest.mark.parametrize(
    "error",
    [OptionsError("rank is of adapters"), RequestError("1.wav cannot be read as audio: it is gone", "audio")],
)
def test_an_option_that_does_not_go_with_the_base_and_a_recording_that_went_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr("models.voxcpm.finetuning.run.finetune", Mock(side_effect=error))
    result = CliRunner().invoke(app, ["finetune", str(tmp_path), "--name", "anna", "--out", str(tmp_path)])
    assert (result.exit_code, result.stderr) == (1, f"error: {error}\n")


@pytest.mark.parametrize("name", ["anna", 'Anna "the voice" of O\'Neil; rm -rf'])
def test_what_serves_a_voice_is_said_as_a_shell_reads_it(name: str) -> None:
    folder = Path("my voices") / name
    told = how_to_serve(folder, name, Method.LORA)
    command, request = told.removeprefix("serve it with: ").split("\nthen speak with ")
    assert shlex.split(command)[2:8] == [
        *("-F", f"name={name}"),
        *("-F", f"weights=@{folder}/lora_weights.safetensors"),
        *("-F", f"config=<{folder}/lora_config.json"),
    ]
    assert json.loads(request.rpartition(", on a")[0]) == {"text": "Hello.", "adapter": name}
    whole = how_to_serve(folder, name, Method.FULL).removeprefix("serve it with: ")
    assert shlex.split(whole) == ["voxfleet", "serve", "--model", str(folder)]


@pytest.mark.parametrize("over", [True, False])
def test_who_stops_a_training_is_told_how_to_go_on_unless_it_was_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: bool
) -> None:
    def stopped(data: Path, out: Path, options: object, report: Report, *given: object) -> Finetuned:
        report({"state": "resumed", "step": 12})
        os.kill(os.getpid(), signal.SIGTERM)
        return Finetuned(out, Standing(step=12, best_step=8), 40.0, over)

    monkeypatch.setattr("models.voxcpm.finetuning.run.finetune", stopped)
    result = CliRunner().invoke(app, ["finetune", str(tmp_path), "--name", "anna", "--out", str(tmp_path)])
    assert result.exit_code == (0 if over else 130)
    assert ("stopped at step 12; the same command goes on" in result.stdout) is not over
    assert ("serve it with" in result.stdout) is over


@pytest.mark.parametrize("state", ["loading", "encoding", "validated"])
def test_before_the_first_step_ctrl_c_ends_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """What is loaded, downloaded and encoded may take minutes."""
    went_on = []

    def interrupted(data: Path, out: Path, options: object, report: Report, *given: object) -> Finetuned:
        report({"state": state, "share": 0.5, "step": 0})
        os.kill(os.getpid(), signal.SIGINT)
        went_on.append(state)
        return Finetuned(out, Standing(), 40.0, False)

    monkeypatch.setattr("models.voxcpm.finetuning.run.finetune", interrupted)
    result = CliRunner().invoke(app, ["finetune", str(tmp_path), "--name", "anna", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert went_on == ["validated"] * (state == "validated")


def test_the_first_signal_ends_the_training_and_the_next_one_the_process() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stopped_by_signals() as stopped:
        os.kill(os.getpid(), signal.SIGINT)
        assert stopped == [signal.SIGINT] and signal.getsignal(signal.SIGINT) is before
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ({"state": "validated", "step": 0, "loss": 1.25}, "before training: validation loss 1.250"),
        (
            {"state": "validated", "step": 9, "loss": 1.0, "best": 5},
            "step 9: validation loss 1.000, best at step 5",
        ),
        ({"state": "resumed", "step": 4}, "going on from step 4"),
        (
            {"state": "training", "step": 20, "steps": 60, "flow": 0.5, "stop": 0.1}
            | {"seconds_a_step": 2, "seconds_left": 80},
            "step 20 of 60: loss 0.500, stop 0.100, 2.00 s a step, at most 1 minutes left",
        ),
        ({"state": "written"}, ""),
    ],
)
def test_events_become_lines(event: dict[str, Any], line: str) -> None:
    assert line_of(event) == line
