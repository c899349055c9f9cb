"""Which names can be seen, and which could pass for others."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from gateway.text.printable import JOINERS, is_blank, is_printable, mixes_scripts, printable


def test_spaces_of_any_width_and_joiners_are_printable() -> None:
    characters = list(map(chr, range(sys.maxunicode + 1)))
    shown = {
        each
        for each in characters
        if each.isprintable() or each in JOINERS or unicodedata.category(each) == "Zs"
    }
    assert set(filter(is_printable, characters)) == shown
    assert printable("\x00a\u3000\u200db\n\xa0c\x7f") == "a\u3000\u200db\xa0c"


def test_no_character_is_looked_at_by_itself() -> None:
    """Those of a book's 20,000 pronunciations held up everybody for a second."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += "call" in event

    sys.setprofile(count)
    try:
        is_printable("a\u200d\xa0" * 1000)
    finally:
        sys.setprofile(None)
    assert calls < 10


@pytest.mark.parametrize(
    "text", ["", " ", "\u200d", "\u3164", "\u115f\u1160", "\ufe0f", "\u2800", "\u3000\u034f"]
)
def test_what_nobody_sees_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize(
    "name",
    [
        "\u0410da",  # a Cyrillic A
        "Ad\u03b1",  # a Greek alpha
        "\u0421\u03bf\u043b\u044f",  # a Greek o among Cyrillic
        "\u0410\u0301da",  # an accent between them
        "\u0410\u200dda",
        "\u0410\ufe0fda",
        "\u041c2x",
        "my \u0412ella",
        "A\u0578\u0578",  # Armenian letters
        "\u13aada",  # a Cherokee one
    ],
)
def test_a_word_of_letters_that_look_alike_is_told(name: str) -> None:
    assert mixes_scripts(name)


@pytest.mark.parametrize(
    "name",
    [
        "Ada",
        "\u0410\u0434\u0430 (Ada)",  # one word of each
        "\u0410\u0434\u0430-Ada",
        "\u0391\u03bd\u03bd\u03b1 2",
        "\u03b2-Carotin",
        "5 \u00b5m",  # the sign, which is no Greek letter
        "\u5f20Anna\u3055\u3093",
        "Ren\u00e9e D\u2019Arcy \u2764\ufe0f",
        "\u0645\u0631\u064a\u0645 Mary",
    ],
)
def test_names_of_one_script_a_word_are_names(name: str) -> None:
    assert not mixes_scripts(name) and not is_blank(name)
