"""One adapter per amount and setting, each trained in a process of its own."""

from __future__ import annotations

import json
import math
import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from benchmarks.voice.amounts.speaker import Said, as_by_telephone, cut_short, first_minutes, read, write
from models.voxcpm.finetuning.options import FinetuneOptions
from models.voxcpm.finetuning.run import finetune


@dataclass(frozen=True)
class Setting:
    """What differs from the defaults."""

    options: dict[str, Any] = field(default_factory=dict)
    of_recording: Callable[[Said], Said] = lambda said: said


SETTINGS = {
    "default": Setting(),
    "high_rate": Setting({"learning_rate": 4e-3}),
    "low_rate": Setting({"learning_rate": 1e-4}),
    "rank_4": Setting({"rank": 4}),
    "rank_128": Setting({"rank": 128}),
    "whole_strength": Setting({"strength": 1.0}),
    "no_decoder": Setting({"decoder": False}),
    "no_decoder_half": Setting({"decoder": False, "strength": 0.5}),
    "telephone": Setting(of_recording=as_by_telephone),
    "cut_transcripts": Setting(of_recording=cut_short),
}


@dataclass(frozen=True)
class Row:
    """One line of the table: an amount and a setting, in a folder of `out`."""

    minutes: float
    setting: str
    out: Path

    @property
    def name(self) -> str:
        return f"{self.minutes:g}-{self.setting}"

    @property
    def folder(self) -> Path:
        return self.out / self.name

    @property
    def took(self) -> dict[str, Any] | None:
        """What is told of its training; None before it is over."""
        file = self.folder / "took.json"
        return json.loads(file.read_text()) if file.is_file() else None


@dataclass(frozen=True)
class Means:
    """With what is trained."""

    base: str
    steps: int
    device: str
    threads: int | None
    most_seconds: float = math.inf
    """After so many a training ends as it stands."""


def train(row: Row, means: Means) -> None:
    """To its end, or on from where it was cut. Raises DatasetError."""
    if row.took is not None:
        return
    setting, recordings = SETTINGS[row.setting], row.folder / "recordings"
    if not (recordings / "train.jsonl").is_file():
        learnt = first_minutes(read(row.out / "speaker" / "learnt"), row.minutes)
        write(map(setting.of_recording, learnt), recordings)
    options = FinetuneOptions(
        means.base, steps=means.steps, device=means.device, threads=means.threads, **setting.options
    )
    began = time.monotonic()
    end = began + means.most_seconds
    found = finetune(
        recordings,
        row.folder / "voice",
        options,
        lambda event: None,
        stopping=lambda: time.monotonic() > end or _orphaned(),
    )
    if _orphaned():
        return  # the same command goes on from there
    standing = found.standing
    took = {
        "trained_s": round(standing.spent_seconds, 1),
        "whole_s": round(time.monotonic() - began, 1),
        "minutes": round(found.seconds_of_speech / 60, 1),
        "steps": standing.step,
        "best_step": standing.best_step,
        "loss": [round(standing.first_loss, 4), round(standing.best_loss, 4)],
        "device": means.device,
    }
    (row.folder / "took.json").write_text(json.dumps(took) + "\n")


def _orphaned() -> bool:
    """Whether this process works for one that was killed."""
    parent = multiprocessing.parent_process()
    return parent is not None and not parent.is_alive()


def train_all(rows: Iterable[Row], means: Means, at_once: int) -> None:
    """So many at a time; each is told when it ends. One that fails stops no other."""
    waiting, running = [row for row in rows if row.took is None], dict[BaseProcess, Row]()
    context = multiprocessing.get_context("spawn")
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                row = waiting.pop(0)
                process = context.Process(target=_train_in_process, args=(row, means))
                process.start()
                running[process] = row
            connection.wait([process.sentinel for process in running])
            for process in [process for process in running if not process.is_alive()]:
                row = running.pop(process)
                print(
                    json.dumps({"trained": row.name, **(row.took or {"failed": process.exitcode})}),
                    flush=True,
                )
    finally:
        for process in running:
            process.terminate()
            process.join()


def _train_in_process(row: Row, means: Means) -> None:
    try:
        train(row, means)
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
