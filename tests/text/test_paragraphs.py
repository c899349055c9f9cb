"""Paragraphs of plain text, as blank lines part them."""

from __future__ import annotations

import pytest

from gateway.text.paragraphs import paragraphs


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One.\nStill one.", ["One.\nStill one."]),
        (" One. \n\n", [" One. \n\n"]),
        ("One.\r\nStill one.", ["One.\r\nStill one."]),
        ("One.\n\nTwo.", ["One.", "Two."]),
        ("One.\r\n \t\r\nTwo.\r\rThree.\u2029Four.", ["One.", "Two.", "Three.", "Four."]),
        ("\n\n One. \n\n\n\n Two.\n\n", ["One.", "Two."]),
        ("One.\n\n***\n\nTwo.", ["One.\n\n***", "Two."]),
        ("***\n\n---\n\nOne.", ["***\n\n---\n\nOne."]),
    ],
)
def test_blank_lines_part_what_has_words(text: str, found: list[str]) -> None:
    passages = paragraphs(text, 0.5)
    assert [passage.text for passage in passages] == found
    assert [passage.pause for passage in passages] == [0.0, *[0.5] * (len(found) - 1)]


def test_without_a_pause_the_text_is_one() -> None:
    assert [passage.text for passage in paragraphs("One.\n\nTwo.", 0.0)] == ["One.\n\nTwo."]
