"""Which names can be seen, and which could pass for others."""

from __future__ import annotations

import pytest

from gateway.text.printable import is_blank, mixes_scripts


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
