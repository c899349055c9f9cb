"""What is heard of each adapter, and the table of it, which is written anew after each row."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.voice.amounts.speaker import HELD_OUT, Said, read
from benchmarks.voice.amounts.training import Row
from benchmarks.voice.finetuned import REFERENCE_RECORDINGS, Likeness
from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.judging.measures import SAMPLE_RATE
from models.voxcpm import VoxCPM
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines

REFERENCE_SECONDS = (2.0, 8.0)
SENTENCES = 40
SPEAKER, REFERENCE = "the speaker", "reference"


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


def judge_all(rows: Iterable[Row], out: Path, base: str) -> None:
    """Those whose training is over and that are not in the table yet."""
    table = Table(out / "table.json")
    held_out = [one.at(SAMPLE_RATE) for one in read(out / "speaker" / "held_out")]
    heard = _like_references(read(out / "speaker" / "learnt"))
    with VoxCPM.from_pretrained(base, "cpu", max_num_seqs=SENTENCES) as voice:
        likeness = Likeness(voice, Judges(), held_out, read_lines(HELD_OUT_FILE)[:SENTENCES])
        if SPEAKER not in table.rows:
            others = likeness.similarity(heard[REFERENCE_RECORDINGS:][:HELD_OUT])
            table.add(SPEAKER, {"similarity": round(others, 3)})
        most = table.rows[SPEAKER]["similarity"]
        if REFERENCE not in table.rows:
            given = (np.concatenate(heard[:REFERENCE_RECORDINGS]), SAMPLE_RATE)
            found = likeness.of(reference_audio=given)
            table.add(REFERENCE, compared(found, found, most))
        for row in rows:
            if (took := row.took) is None or row.name in table.rows:
                continue
            voice.load_lora(row.folder / "voice", row.name)
            found = compared(likeness.of(lora=row.name), table.rows[REFERENCE], most)
            voice.unload_lora(row.name)
            table.add(row.name, found | took)


def _like_references(recordings: list[Said]) -> list[np.ndarray]:
    low, high = REFERENCE_SECONDS
    return [one.at(SAMPLE_RATE) for one in recordings if low < one.seconds < high]
