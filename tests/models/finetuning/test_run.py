"""What a run began with is written once and whole; who reads the journal hears why another cannot go on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from models.voxcpm.finetuning import run
from models.voxcpm.finetuning.fingerprint import STATE
from models.voxcpm.finetuning.options import FinetuneOptions
from models.voxcpm.finetuning.recordings.dataset import DatasetError, OtherRunError
from models.voxcpm.finetuning.run import finetune


@pytest.fixture(autouse=True)
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trained."""
    monkeypatch.setattr(run, "_train", lambda *given: None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / "1.wav").write_bytes(b"audio")
    (folder / "1.txt").write_text("Hello.")
    return folder


def journal(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "work" / "progress.jsonl").read_text().splitlines()]


def begin(data: Path, **options: Any) -> Path:
    out = data.parent / "anna"
    finetune(data, out, FinetuneOptions(**options), lambda event: None)
    return out


def learn(data: Path) -> Path:
    """A run that has something to lose."""
    out = begin(data)
    (out / "work" / STATE).touch()
    return out


def test_other_options_are_refused_in_the_journal_too(data: Path) -> None:
    out = learn(data)
    with pytest.raises(OtherRunError, match="anna holds a run with other recordings or options"):
        begin(data, base="/other")
    [refused] = journal(out)
    assert (refused["state"], refused["outdated"]) == ("refused", True)
    assert str(data.parent) not in refused["message"]
    assert begin(data, device="cpu", threads=1) == out


def test_a_recording_that_was_made_again_is_another_one(data: Path) -> None:
    learn(data)
    (data / "1.wav").write_bytes(b"other")
    with pytest.raises(OtherRunError):
        begin(data)
    (data / "1.wav").write_bytes(b"audio")
    begin(data)


def test_a_run_goes_on_where_its_data_was_moved(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a backup, on another machine."""
    learn(data)
    moved = data.parent.rename(data.parent.with_name("moved"))
    assert begin(moved / data.name) == moved / "anna"
    monkeypatch.chdir(moved)
    finetune(Path(data.name), Path("anna"), FinetuneOptions(), lambda event: None)


def test_a_run_of_before_its_data_could_be_moved_goes_on(data: Path) -> None:
    file = learn(data) / "work" / "run.json"
    began = json.loads(file.read_text())
    what = began["options"] | {
        "device": "",
        "threads": 0,
        "recordings": [[str(data / "1.wav"), "Hello.", ""]],
    }
    began["digest"] = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps(began))
    begin(data)


def test_a_run_of_before_its_audio_was_noted_goes_on(data: Path) -> None:
    file = learn(data) / "work" / "run.json"
    began = json.loads(file.read_text())
    del began["audio"]
    file.write_text(json.dumps(began))
    begin(data)


def test_a_run_that_learnt_nothing_begins_anew_with_other_recordings_and_options(data: Path) -> None:
    began = json.loads((begin(data) / "work" / "run.json").read_text())
    (data / "1.txt").write_text("Hello again.")
    told = json.loads((begin(data, rank=4) / "work" / "run.json").read_text())
    assert told["digest"] != began["digest"] and told["options"]["rank"] == 4


def test_a_run_is_not_written_into_a_folder_of_its_recordings(data: Path) -> None:
    with pytest.raises(DatasetError, match="recordings holds recordings"):
        finetune(data, data, FinetuneOptions(), lambda event: None)
    for out in (data / "anna", data.parent):
        finetune(data, out, FinetuneOptions(), lambda event: None)


def test_recordings_that_are_not_there_are_refused_in_the_journal(data: Path) -> None:
    (data / "train.jsonl").write_text(json.dumps({"audio": "gone.wav", "text": "Hello."}))
    with pytest.raises(DatasetError):
        begin(data)
    [refused] = journal(data.parent / "anna")
    assert (refused["state"], refused["outdated"]) == ("refused", False)
    assert refused["message"] == "train.jsonl, line 1: gone.wav does not exist"


def test_what_a_run_began_with_is_written_once(data: Path) -> None:
    file = begin(data) / "work" / "run.json"
    before = file.stat()
    begin(data, threads=1)
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_run_that_was_killed_at_its_first_line_goes_on(data: Path) -> None:
    def killed(*given: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("os.replace", killed)
        begin(data)
    assert json.loads((begin(data) / "work" / "run.json").read_text())["digest"]


@pytest.mark.parametrize("content", ["", '{"digest": "12'])
def test_a_run_that_nobody_knows_the_beginning_of_is_another_one(data: Path, content: str) -> None:
    out = learn(data)
    (out / "work" / "run.json").write_text(content)
    with pytest.raises(OtherRunError):
        begin(data)
    assert journal(out)[-1]["outdated"]
