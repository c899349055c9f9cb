"""The text corpus: what counts as a sentence, and that held-out sentences stay out of the training."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.voxcpm.training.speech.synthesis import random_words, utterance_texts
from models.voxcpm.training.texts.sentences import (
    HELD_OUT_FILE,
    READABLE,
    choose_held_out,
    dictionary_words,
    normalize_text,
    read_lines,
    shingles,
    split_sentences,
    training_sentences,
    words_of,
    write_lines,
)
from models.voxcpm.training.texts.templates import template_sentence

HELD_OUT = "The quick brown fox jumps over the lazy dog."


def kept(*sentences: str) -> list[str]:
    return training_sentences({"some": list(sentences)}, [HELD_OUT])


def test_a_held_out_sentence_is_never_trained_on_however_it_is_written() -> None:
    assert kept(HELD_OUT, HELD_OUT.upper(), "the quick, brown fox; jumps over the lazy dog!") == []


def test_six_words_in_a_row_of_a_held_out_sentence_bar_a_sentence_and_five_do_not() -> None:
    six = "We say that the quick brown fox jumps over it."
    five = "We say that the quick brown fox jumps high."
    assert kept(six, five) == [five]


def test_a_short_held_out_sentence_bars_only_itself() -> None:
    found = {"some": ["Hold on to the root.", "Hold on to the root of it."]}
    assert training_sentences(found, ["Hold on to the root."]) == ["Hold on to the root of it."]


def test_the_shipped_held_out_sentences_are_distinct_and_can_be_read_aloud() -> None:
    lines = read_lines(HELD_OUT_FILE)
    assert len(lines) == 300 == len({tuple(words_of(line)) for line in lines})
    for line in lines:
        assert 5 <= len(line.split()) <= 20 and not set(line) - set(READABLE)


@pytest.mark.parametrize(
    "part",
    ["Set TEXT to one.", "Call open() first.", "See /usr/share/doc here.", "Use os.path for it.", "Tiny.",
     "This is camelCase text.", "3.14159 + 2.71828 = 5.85987", "Naïve 漢字 text here."],
)  # fmt: skip
def test_what_flite_and_a_reader_say_differently_is_no_sentence(part: str) -> None:
    assert list(split_sentences(part)) == []


def test_a_paragraph_becomes_sentences_with_plain_quotes_and_an_ending() -> None:
    paragraph = "“It is late,” she said. He didn’t answer; why?  and then they left"
    assert list(split_sentences(paragraph)) == [
        '"It is late," she said.',
        "He didn't answer; why?",
        "And then they left.",
    ]


@given(st.text(max_size=80))
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalize_text(normalize_text(text)) == normalize_text(text)


@given(st.text(max_size=300))
def test_every_sentence_is_readable_and_has_an_ending(text: str) -> None:
    for sentence in split_sentences(text):
        assert not set(sentence) - set(READABLE) and 8 <= len(sentence) <= 211
        assert sentence.rstrip("\"'")[-1] in ".?!"


def test_held_out_sentences_are_chosen_of_known_words_alone() -> None:
    found = {"some": ["One two three four five.", "One two three four xylograph.", "One two."]}
    assert choose_held_out(found, {"some": 1}, {"one", "two", "three", "four", "five"}) == [found["some"][0]]


def test_shingles_are_runs_of_six_words() -> None:
    assert shingles("a b c d e f g") == {("a", "b", "c", "d", "e", "f"), ("b", "c", "d", "e", "f", "g")}
    assert shingles("Only, three words!") == {("only", "three", "words")}


def test_capitals_inside_and_most_possessives_are_left_out_of_the_word_list(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("apple\nNATO\nAnna\n" + "".join(f"w{'o' * n}'s\n" for n in range(20)))
    words = dictionary_words(path)
    assert words[:2] == ["apple", "Anna"] and len(words) == 4


def test_lines_survive_compression(tmp_path: Path) -> None:
    write_lines(tmp_path / "lines.txt.xz", ["one", "two"])
    assert read_lines(tmp_path / "lines.txt.xz") == ["one", "two"]


def test_made_up_texts_are_readable() -> None:
    rng, words = random.Random(0), ["window", "it's", "orange"]
    for _ in range(500):
        for text in (random_words(rng, [HELD_OUT], words), template_sentence(rng, words)):
            assert text and not set(text) - set(READABLE)


def test_every_process_reads_each_of_its_own_sentences() -> None:
    sentences = [f"Sentence number {n}." for n in range(10)]
    texts = utterance_texts(random.Random(0), sentences, ["word"], slice(1, None, 2))
    spoken = " ".join(text for _, text in (next(texts) for _ in range(60)))
    assert all(f"number {n}." in spoken for n in range(1, 10, 2))
