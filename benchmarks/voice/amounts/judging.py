"""What is heard of each adapter, and the table of it, which is written anew after each row."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.voice.amounts.speaker import Said, read
from benchmarks.voice.amounts.training import Row
from benchmarks.voice.finetuned import REFERENCE_RECORDINGS, Likeness, through_the_vae
from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.judging.measures import SAMPLE_RATE
from benchmarks.voice.speakers.readers import Clip
from models.voxcpm import VoxCPM
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines

REFERENCE_SECONDS = (2.0, 8.0)
SENTENCES = 40
SPEAKER, DECODED, REFERENCE = "the speaker", "audio VAE", "reference"
OTHERS = 50
"""Recordings of the speaker that the first two rows are of."""
TOGETHER = ", a reference too"
"""After the name of a row whose adapter speaks with the reference, as the voices of trainings do."""


class Table:
    """Rows by their names, kept in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        rows = json.loads(file.read_text())["rows"] if file.is_file() else []
        self.rows: dict[str, dict[str, Any]] = {row["who"]: row for row in rows}

    def add(self, who: str, found: dict[str, Any]) -> None:
        """Keep and print it."""
        self.rows[who] = {"who": who, **found}
        self._file.write_text(json.dumps({"rows": list(self.rows.values())}, indent=1) + "\n")
        print(json.dumps(self.rows[who]), flush=True)


def compared(found: dict[str, float], reference: dict[str, float], most: float) -> dict[str, float]:
    """What was found, and how much of the way from the reference to the speaker was gone."""
    way = most - reference["similarity"]
    gone = (found["similarity"] - reference["similarity"]) / way if way else 0.0
    return {**{name: round(value, 3) for name, value in found.items()}, "way": round(gone, 2)}


def judge_all(rows: Iterable[Row], out: Path, base: str, sentences: int = SENTENCES) -> None:
    """Those whose training is over and that are not in the table yet, by so many held-out sentences."""
    table = Table(out / "table.json")
    held_out = [one.at(SAMPLE_RATE) for one in read(out / "speaker" / "held_out")]
    heard = _like_references(read(out / "speaker" / "learnt"))
    judges = Judges()
    with VoxCPM.from_pretrained(base, "cpu", max_num_seqs=SENTENCES) as voice:
        likeness = Likeness(voice, judges, held_out, read_lines(HELD_OUT_FILE)[:sentences])
        others = heard[REFERENCE_RECORDINGS:][:OTHERS]
        clips = [one.at(SAMPLE_RATE) for one in others]
        for who in (SPEAKER, DECODED):
            if who not in table.rows:
                sounds = clips if who == SPEAKER else through_the_vae(base, clips)
                said = [Clip(one.text, sound) for one, sound in zip(others, sounds, strict=True)]
                found = likeness.judged(said)
                table.add(who, {name: round(value, 3) for name, value in found.items()})
        most = table.rows[SPEAKER]["similarity"]
        first = [one.at(SAMPLE_RATE) for one in heard[:REFERENCE_RECORDINGS]]
        given = (np.concatenate(first), SAMPLE_RATE)
        if REFERENCE not in table.rows:
            found = likeness.of(reference_audio=given)
            table.add(REFERENCE, compared(found, found, most))
        for row in rows:
            if (took := row.took) is None:
                continue
            spoken = {row.name: None, row.name + TOGETHER: given}
            if left := {who: audio for who, audio in spoken.items() if who not in table.rows}:
                voice.load_lora(row.folder / "voice", row.name)
                for who, audio in left.items():
                    found = likeness.of(lora=row.name, reference_audio=audio)
                    table.add(who, compared(found, table.rows[REFERENCE], most) | took)
                voice.unload_lora(row.name)


def _like_references(recordings: list[Said]) -> list[Said]:
    low, high = REFERENCE_SECONDS
    return [one for one in recordings if low < one.seconds < high]
