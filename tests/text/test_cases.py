"""The tables of written cases are read right, and no word of them is lost."""

from __future__ import annotations

import re

import pytest

from benchmarks.text import FILES, Case, bare, cases, is_right
from gateway.text import normalise

LEAST_SHARE = {"en": 0.97, "en_held_out": 0.93, "zh": 0.97, "zh_held_out": 0.93}
WORD = re.compile(r"[a-z]{2,}|[\u3400-\u9fff]", re.I)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_language_has_three_hundred_cases_and_a_third_is_held_out(language: str) -> None:
    tuned, held_out = list(cases(language)), list(cases(f"{language}_held_out"))
    assert len({case.written for case in (*tuned, *held_out)}) >= 300
    assert len(held_out) / (len(tuned) + len(held_out)) > 0.32


@pytest.mark.parametrize("name", FILES)
def test_a_table_is_read_right(name: str) -> None:
    table = list(cases(name))
    wrong = [
        f"{case.written!r} became {said!r}"
        for case in table
        if not is_right(said := normalise(case.written, name[:2]).text, case)
    ]
    assert 1 - len(wrong) / len(table) >= LEAST_SHARE[name], "\n".join(wrong)


@pytest.mark.parametrize("name", FILES)
def test_no_case_loses_a_word(name: str) -> None:
    """A word that stands in the text and in the right reading of it is in ours."""
    lost = []
    for case in cases(name):
        said = bare(normalise(case.written, name[:2]).text)
        spoken = bare(re.sub(r"\{[^}]*\}|\[[^]]*\]", " ", case.spoken.split(" | ")[0]))
        words = [word for word in map(bare, WORD.findall(case.written)) if word in spoken]
        lost += [f"{case.written!r} lost {word!r}" for word in words if word not in said]
    assert lost == []


def test_a_wrong_reading_is_found() -> None:
    case = Case("It is 5.", "It is {five/cinq} [exactly]. | Five it is.", "number")
    assert is_right("it is CINQ exactly", case)
    assert is_right("Five, it is!", case)
    assert not is_right("It is 5.", case)
    assert not is_right("It is.", case)
