"""Marks within the text of Deepgram's clients."""

from __future__ import annotations

import pytest

from gateway.protocols.deepgram.controls import Controls

WORD = r'\{"word": "dupilumab", "pronounce": "duːˈpɪljuːmæb"\}'
NO_MARKS = r"\{pause:1m\} \{pause\} {pause:1s} C:\{x\} \\"
TEXTS = [
    (r"One. \{pause:1s\}Two. \{pause:500ms\} Three.", ["One. ", 1.0, "Two. ", 0.5, "Three."]),
    (r"\{pause:1.5s\}", [1.5]),
    (r"\{ pause: 90s \}!", [20.0, "!"]),
    (f"Take {WORD}, twice.", ["Take dupilumab, twice."]),
    (r'\{"word":"a \"b\" c","pronounce":"x"\}', ['a "b" c']),
    (NO_MARKS, [NO_MARKS]),
    (r'Not closed \{"word": "a", "pro', [r'Not closed \{"word": "a", "pro']),
    (r"Nor this \{pause:1s", [r"Nor this \{pause:1s"]),
    ("a\\", ["a\\"]),
]


@pytest.mark.parametrize(("text", "said"), TEXTS)
@pytest.mark.parametrize("length", [1, 3, 1000])
def test_marks_are_taken_out_however_the_text_comes(text: str, said: list[str | float], length: int) -> None:
    controls = Controls()
    pieces = [piece for at in range(0, len(text), length) for piece in controls.take(text[at : at + length])]
    together: list[str | float] = []
    for piece in (*pieces, controls.rest()):
        if isinstance(piece, str) and together and isinstance(together[-1], str):
            together[-1] += piece
        elif piece != "":
            together.append(piece)
    assert together == said
    assert controls.pauses == sum(isinstance(piece, float) for piece in said)
    assert controls.characters == sum(len(piece) for piece in said if isinstance(piece, str))


def test_words_before_and_behind_a_pause_are_parted() -> None:
    assert Controls().whole(r"One.\{pause:1s\}Two.") == ["One. ", 1.0, "Two."]


def test_what_is_no_mark_does_not_wait() -> None:
    controls = Controls()
    assert controls.take("\\{" + " " * 21) == ["\\{" + " " * 21]
    assert controls.take(r"C:\dir, \{x} \{pau") == [r"C:\dir, \{x} "]
    assert controls.take("l") == []
    assert controls.take("y {") == [r"\{pauly {"]
