"""Recipes, timetables, doses, laws, logs, sums, games, adverts: each line is read as its readers say it.

In `readings/en.tsv` and `zh.tsv` a tab parts what is written from what is said; `\\n` ends a line of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.text import bare
from gateway.text import normalise

FOLDER = Path(__file__).parent / "readings"
READINGS = [
    (language, *line.split("\t"))
    for language in ("en", "zh")
    for line in (FOLDER / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(("language", "written", "spoken"), READINGS)
def test_a_line_is_read_as_its_readers_say_it(language: str, written: str, spoken: str) -> None:
    assert bare(normalise(written.replace("\\n", "\n"), language).text) == bare(spoken)
