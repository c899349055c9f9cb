"""Long text is cut into parts where a reader would breathe, and nothing of it is lost."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.sentences import complete, cut, ended, has_words, parts, seems_complete

STORY = 'Dr. Smith paid $12.50 for 3 apples. Then he left! Did he? "Yes," said J. R. Tolkien. It was 6 p.m.'


def test_text_that_fits_stays_as_it_is() -> None:
    assert parts("  One. Two.\n", 20) == ["  One. Two.\n"]
    assert parts(STORY * 50, None) == [STORY * 50]


@pytest.mark.parametrize("text", ["", "  \n "])
def test_text_without_words_has_no_parts(text: str) -> None:
    assert parts(text, 10) == []


@pytest.mark.parametrize("text", ["Hi", "42", "½", "你好。", "مرحبا", "हिन्दी", "ไทย", "🙂 ok"])
def test_letters_of_any_script_and_digits_can_be_spoken(text: str) -> None:
    assert has_words(text)


@pytest.mark.parametrize("text", ["", " \n", "🙂👍🏽", "?!…", "---", "。", "$ %"])
def test_signs_and_emoji_alone_cannot(text: str) -> None:
    assert not has_words(text)


def test_abbreviations_and_decimals_end_no_sentence() -> None:
    assert parts(STORY, 39) == [
        "Dr. Smith paid $12.50 for 3 apples.",
        "Then he left! Did he?",
        '"Yes," said J. R. Tolkien.',
        "It was 6 p.m.",
    ]


@pytest.mark.parametrize(
    ("text", "most_characters", "found"),
    [
        ("Go to Rm. 204 by Wed. Jan. 3. Then rest.", 30, ["Go to Rm. 204 by Wed. Jan. 3.", "Then rest."]),
        ("It is 9 p.m. ET now. Then rest.", 20, ["It is 9 p.m. ET now.", "Then rest."]),
        ("It is 9 p.m. Even so. Then rest.", 21, ["It is 9 p.m. Even so.", "Then rest."]),
        ("1. One thing.\n2. Two things.", 16, ["1. One thing.", "2. Two things."]),
        ("I. One thing. II. Two things.", 16, ["I. One thing.", "II. Two things."]),
        ("Under R. Civ. P. 12 we end. Then rest.", 29, ["Under R. Civ. P. 12 we end.", "Then rest."]),
        (
            "Take 3 lg. eggs at 8 a.m. Monday. Then rest.",
            34,
            ["Take 3 lg. eggs at 8 a.m. Monday.", "Then rest."],
        ),
        ("It went 1. e4 e5 2. Nf3 Nc6. Then rest.", 29, ["It went 1. e4 e5 2. Nf3 Nc6.", "Then rest."]),
        (
            "See https://example.com/a:b,c?q=1 or call, today.",
            36,
            ["See https://example.com/a:b,c?q=1 or", "call, today."],
        ),
        ('"Hello there, my friend," she said to me.', 30, ['"Hello there, my friend,"', "she said to me."]),
        ("a,b,c,d,e,f,g,h", 10, ["a,b,c,d,e,", "f,g,h"]),
    ],
)
def test_addresses_numbers_of_lists_and_quotes_stay_whole(
    text: str, most_characters: int, found: list[str]
) -> None:
    assert parts(text, most_characters) == found


def test_growing_text_ends_at_no_abbreviation_and_no_number_of_a_list() -> None:
    assert complete("He is in Rm. 204. 1. Two") == ["He is in Rm. 204. "]


def test_a_long_sentence_is_cut_at_a_comma_rather_than_between_words() -> None:
    sentence = "The train leaves from platform two, calling at every station on the coast."
    assert parts(sentence, 50) == [
        "The train leaves from platform two,",
        "calling at every station on the coast.",
    ]


def test_without_a_pause_a_sentence_is_cut_between_words_and_a_word_only_when_it_must() -> None:
    assert parts("alpha beta gamma delta", 12) == ["alpha beta", "gamma delta"]
    assert parts("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]


def test_text_without_spaces_is_cut_after_its_own_full_stops() -> None:
    assert parts("你好。我是谁？再见，朋友。", 6, ["zh"]) == ["你好。", "我是谁？", "再见，朋友。"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Good morning", "Good morning."),
        ("when it was over, ", "when it was over. "),
        ("He left \u2014", "He left."),
        ('"Come," she said, "to me,"', '"Come," she said, "to me."'),
        ("Version 2", "Version 2."),
        ("\u4f60\u597d\uff0c", "\u4f60\u597d."),
    ],
)
def test_half_a_sentence_gets_a_full_stop(text: str, sentence: str) -> None:
    assert ended(text) == sentence


@pytest.mark.parametrize(
    "text",
    ["Yes.", "No?  ", '"Go!"', "It is 5.", "(He left.)", "Well\u2026", "\u4f60\u597d\u3002", "", " ", "''"],
)
def test_a_whole_sentence_stays_as_it_is(text: str) -> None:
    assert ended(text) == text


@given(st.text(alphabet="ab .,!?;:\n-—。，é'\"3", max_size=300), st.integers(1, 60))
def test_every_part_fits_and_together_they_are_the_text(text: str, most_characters: int) -> None:
    found = parts(text, most_characters)
    if len(text) > most_characters:
        assert all(0 < len(part) <= most_characters for part in found)
    assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text)


def test_the_sentences_of_a_book_are_those_of_its_pages() -> None:
    """sentencex alone drops blank lines of a text of some ten thousand characters."""
    text = "The door was open. Nobody came! \n\nDid Dr. Smith leave?\n\n" * 1000
    found = complete(text)
    assert text.startswith("".join(found)) and len("".join(found)) > len(text) - 30
    assert {sentence.strip() for sentence in found} == {
        "The door was open.", "Nobody came!", "Did Dr. Smith leave?"
    }  # fmt: skip


@pytest.mark.parametrize("look", [seems_complete, lambda text: cut(text, len(text) - 1)])
def test_time_grows_with_a_run_of_white_space_and_not_with_its_square(look: Callable[[str], object]) -> None:
    def seconds(count: int) -> float:
        text = "a" + "\n" * count + "x"
        began = time.thread_time()
        look(text)
        return time.thread_time() - began

    short = min(seconds(1_000) for _ in range(3))
    assert min(seconds(12_000) for _ in range(3)) < 36 * short + 0.01


def test_a_zone_belongs_to_the_time_before_it_also_while_it_comes() -> None:
    assert complete("It was 9 p.m. E") == []
    assert complete("It was 9 p.m. ET. The") == ["It was 9 p.m. ET. "]
    assert complete("It was 9 p.m. Everybody") == ["It was 9 p.m. "]
    assert complete("It was 9 p.m. Mond") == []


def test_names_with_full_stops_end_no_sentence_in_chinese() -> None:
    assert complete("他叫J.K.罗琳。她是Dr. Lee。好", ["zh"]) == ["他叫J.K.罗琳。", "她是Dr. Lee。"]
