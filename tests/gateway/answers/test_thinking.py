"""What is thought is not said, however the text is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.answers.thinking import Aloud


def said(pieces: list[str], thinking: bool = False) -> str:
    aloud = Aloud(thinking)
    return "".join(map(aloud.add, pieces)) + aloud.rest()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Plain.", "Plain."),
        ("<think>Hm.</think>Yes.", "Yes."),
        ("One <think>two</think>three <think>four</think>five", "One three five"),
        ("<think>never ends", ""),
        ("1 < 2 and <thin", "1 < 2 and <thin"),
        ("</think>", "</think>"),
        ("<think></thi</think>.", "."),
    ],
)
def test_each_character_by_itself(text: str, expected: str) -> None:
    assert said([text]) == said(list(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Hm.</think>Yes.", "Yes."), ("never ends", ""), ("a</think>b<think>c</think>", "b")],
)
def test_a_text_may_begin_within_a_thought(text: str, expected: str) -> None:
    assert said([text], thinking=True) == said(list(text), thinking=True) == expected


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "think>", "a", "</"]), max_size=12), st.data())
def test_pieces_do_not_matter(words: list[str], data: st.DataObject) -> None:
    text = "".join(words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert said(pieces) == said([text])
