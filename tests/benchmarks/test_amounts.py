"""The table of how much data buys what is made of nested amounts, of recordings that nobody learnt from."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.voice.amounts import judging, training
from benchmarks.voice.amounts.judging import Table, compared
from benchmarks.voice.amounts.speaker import (
    HELD_OUT,
    Said,
    cut_short,
    first_minutes,
    parts_of,
    prepare,
    read,
    shifted,
    write,
)
from benchmarks.voice.amounts.training import SETTINGS, Means, Row, train, train_all
from benchmarks.voice.speakers.asterisk import prompts
from models.voxcpm.finetuning.options import FinetuneOptions
from models.voxcpm.finetuning.recordings.checks import pitch
from models.voxcpm.finetuning.recordings.dataset import DatasetError
from tests.models.finetuning.conftest import RATE, voiced

ROOT = Path(__file__).resolve().parents[2]
LISTING = """; Core Asterisk Sounds in English

activated: Activated.
digits/at: at
beep: [this is a simple beep tone]
agent-loginok: Agent logged in.  Thank  you.
"""


def test_amounts_are_nested_and_what_is_held_out_is_in_none() -> None:
    recordings = [Said(np.zeros(6 * RATE, np.float32), RATE, str(number)) for number in range(60)]
    held_out, learnt = parts_of(recordings)
    assert len(held_out) == HELD_OUT and not {one.text for one in held_out} & {one.text for one in learnt}
    assert [one.text for one in parts_of(recordings)[1]] == [one.text for one in learnt]
    half, one, all_of_them = (first_minutes(learnt, minutes) for minutes in (0.45, 1, 99))
    assert (len(half), len(one), len(all_of_them)) == (5, 10, 40)
    assert one[: len(half)] == half and all_of_them[: len(one)] == one


def test_a_made_speaker_has_another_pitch_at_the_same_pace() -> None:
    pytest.importorskip("librosa.effects", reason="comes with Resemblyzer, which benchmarks alone need")
    said = Said(voiced(3.0, 160.0), RATE, "hello")
    assert shifted(said, 1) is said
    lower = shifted(said, 0.8)
    assert lower.seconds == pytest.approx(said.seconds, rel=0.02)
    assert pitch(lower.samples, RATE) == pytest.approx(128, rel=0.03)


def test_every_setting_is_one_that_can_be_trained_with() -> None:
    for setting in SETTINGS.values():
        FinetuneOptions(**setting.options)
    assert cut_short(Said(np.zeros(1), RATE, "Doors open at nine.")).text == "Doors open"


def test_the_way_is_from_the_reference_to_the_speaker() -> None:
    found = compared({"similarity": 0.8}, {"similarity": 0.7}, 0.9)
    assert found == {"similarity": 0.8, "way": 0.5}


def test_rows_outlast_a_cut_and_what_is_prepared_stays(tmp_path: Path) -> None:
    table = Table(tmp_path / "table.json")
    table.add("3-default", {"similarity": 0.8})
    again = Table(tmp_path / "table.json")
    again.add("10-default", {"similarity": 0.9})
    again.add("3-default", {"similarity": 0.7})
    assert list(Table(tmp_path / "table.json").rows) == ["3-default", "10-default"]

    spoken = [Said(voiced(1.0, 110.0 + number), RATE, f"{number}.") for number in range(HELD_OUT + 2)]
    write(spoken, tmp_path / "recordings")
    prepare(tmp_path / "recordings", 1.0, lambda text: f"number {text}", tmp_path / "speaker")
    learnt = read(tmp_path / "speaker" / "learnt")
    assert len(learnt) == 2 and all(one.text.startswith("number ") for one in learnt)
    prepare(tmp_path / "gone", 1.0, str, tmp_path / "speaker")
    assert [one.text for one in read(tmp_path / "speaker" / "learnt")] == [one.text for one in learnt]


def test_a_training_that_is_over_is_not_done_again(tmp_path: Path) -> None:
    row, means = Row(10, "rank_4", tmp_path), Means(str(tmp_path / "no model"), 2, "cpu", 1)
    row.folder.mkdir()
    with pytest.raises(DatasetError):
        train(row, means)
    (row.folder / "took.json").write_text('{"trained_s": 1.0}')
    train(row, means)
    train_all([row], means, at_once=2)
    assert row.took == {"trained_s": 1.0}


ORPHAN = """
import multiprocessing, os, signal, sys, time
from benchmarks.voice.amounts import training

def work(row, means):
    for _ in range(1200):
        if training._orphaned():
            open(row, "w").close()
            break
        time.sleep(0.05)

if __name__ == "__main__":
    multiprocessing.get_context("spawn").Process(target=work, args=(sys.argv[1], None)).start()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_training_ends_when_who_started_it_was_killed(tmp_path: Path) -> None:
    script, ended = tmp_path / "orphan.py", tmp_path / "ended"
    script.write_text(ORPHAN)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    subprocess.run([sys.executable, script, ended], env=environment, check=False)
    for _ in range(600):
        if ended.exists():
            break
        time.sleep(0.1)
    assert ended.exists()


def test_a_training_that_was_given_up_is_not_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write([Said(voiced(1.0, 110.0), RATE, "One.")], tmp_path / "speaker" / "learnt")
    asked: list[bool] = []

    def cut(*given: Any, stopping: Callable[[], bool]) -> SimpleNamespace:
        asked.append(stopping())
        return SimpleNamespace(standing=None)

    monkeypatch.setattr(training, "_orphaned", lambda: True)
    monkeypatch.setattr(training, "finetune", cut)
    row = Row(10, "default", tmp_path)
    train(row, Means("bundled", 2, "cpu", 1))
    assert asked == [True] and row.took is None


def test_prompts_are_lines_of_speech() -> None:
    assert list(prompts(LISTING)) == [
        ("activated", "Activated."),
        ("digits/at", "at"),
        ("agent-loginok", "Agent logged in. Thank you."),
    ]


def test_every_adapter_is_judged_by_itself_and_with_a_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("held_out", "learnt"):
        write([Said(voiced(3.0), RATE, "Hello.")] * 5, tmp_path / "speaker" / part)
    rows = [Row(3, "default", tmp_path), Row(10, "default", tmp_path)]
    rows[0].folder.mkdir()
    (rows[0].folder / "took.json").write_text('{"trained_s": 1.0}')
    asked, loaded = [], []

    class Voice:
        def __enter__(self) -> Voice:
            return self

        def __exit__(self, *raised: object) -> None: ...

        def load_lora(self, folder: Path, name: str) -> None:
            loaded.append(name)

        def unload_lora(self, name: str) -> None: ...

    class Heard:
        def __init__(self, *given: object) -> None: ...

        def judged(self, clips: list[Any]) -> dict[str, float]:
            return {"similarity": 0.9, "clips": len(clips)}

        def of(self, lora: str | None = None, reference_audio: Any = None) -> dict[str, float]:
            asked.append((lora, reference_audio is not None))
            return {"similarity": 0.8 if lora else 0.7}

    monkeypatch.setattr(judging.VoxCPM, "from_pretrained", lambda *given, **more: Voice())
    monkeypatch.setattr(judging, "Likeness", Heard)
    monkeypatch.setattr(judging, "through_the_vae", lambda base, clips: clips)
    judging.judge_all(rows, tmp_path, "bundled")
    assert asked == [(None, True), ("3-default", False), ("3-default", True)]
    table = Table(tmp_path / "table.json").rows
    assert list(table) == [
        "the speaker", "audio VAE", "reference", "3-default", "3-default, a reference too",
    ]  # fmt: skip
    assert table["audio VAE"]["clips"] == 2 and table["3-default"]["way"] == 0.5
    judging.judge_all(rows, tmp_path, "bundled")
    assert loaded == ["3-default"] and len(asked) == 3
