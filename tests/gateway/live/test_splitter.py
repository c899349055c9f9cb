"""Text in pieces: sentences start when they are complete, and nothing is lost however the text is cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.live.session.splitter import SentenceSplitter
from gateway.live.session.timeline import Timeline
from gateway.text import Lexicon, normalise

words = st.sampled_from(
    [
        "Hello",
        "Dr.",
        " ",
        "  ",
        "\n",
        "world",
        ".",
        "!",
        "?",
        "...",
        "3.5",
        '"',
        "It",
        "is",
        ", ",
        "你好。",
        "é",
        "-",
    ]
)
texts = st.lists(words, max_size=60).map("".join) | st.text(max_size=200)


def split(text: str, cuts: list[int], most_characters: int = 40) -> list[str]:
    splitter = SentenceSplitter(most_characters=most_characters)
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    found = []
    for start, end in itertools.pairwise(edges):
        found += splitter.push(text[start:end])
        assert len(splitter.rest) <= most_characters
    return found + splitter.flush()


@given(text=texts, cuts=st.lists(st.integers(0, 10_000), max_size=12))
def test_however_the_text_is_cut_its_sentences_are_the_text(text: str, cuts: list[int]) -> None:
    sentences = split(text, cuts)
    assert "".join(sentences) == text
    assert all(sentences)


@given(text=texts)
def test_token_by_token_gives_the_text_too(text: str) -> None:
    assert "".join(split(text, list(range(len(text))))) == text


def test_a_sentence_starts_when_the_next_one_begins() -> None:
    splitter = SentenceSplitter()
    assert splitter.push("Good morn") == []
    assert splitter.push("ing. ") == []
    assert splitter.push("H") == ["Good morning. "]
    assert splitter.push("ow are you? I") == ["How are you? "]
    assert splitter.flush() == ["I"]
    assert splitter.flush() == []


def test_an_abbreviation_and_a_number_end_no_sentence() -> None:
    splitter = SentenceSplitter()
    for piece in ("I met Dr", ". ", "Smith at ", "3", ".", "30 ", "today"):
        assert splitter.push(piece) == []
    assert splitter.push(". He") == ["I met Dr. Smith at 3.30 today. "]


def test_what_ends_like_a_sentence_need_not_wait_for_long() -> None:
    splitter = SentenceSplitter()
    for text, complete in (
        ("It is", False),
        (" done.", True),
        (' "Yes!"', True),
        (" and", False),
        ("\n", True),
    ):
        splitter.push(text)
        assert splitter.seems_complete is complete, text


def test_text_without_an_end_is_cut_where_one_would_breathe() -> None:
    sentences = split("one two three, four five six seven eight nine ten", [5], most_characters=30)
    assert sentences[0] == "one two three, "


def spoken(timeline: Timeline, *sentences: tuple[str, int]) -> None:
    for text, samples in sentences:
        timeline.add(text)
        timeline.begin()
        timeline.heard(samples)
        timeline.end("stop")


def test_what_was_played_is_told_by_whole_utterances() -> None:
    timeline = Timeline()
    spoken(timeline, ("One. ", 1000), ("Two. ", 1000), ("Three.", 1000))
    heard = timeline.cancel(2000, dropped_samples=0, rest_characters=4, sample_rate=24000)
    assert (heard.text, heard.characters, heard.estimated) == ("One. Two. ", 10, False)
    assert (timeline.epoch, timeline.samples, bool(timeline)) == (1, 3000, False)
    timeline.add("Next.")
    utterance = timeline.begin()
    assert (utterance.epoch, utterance.index, utterance.start, utterance.first_sample) == (1, 3, 20, 3000)


def test_inside_an_utterance_the_share_of_characters_counts_in_whole_words() -> None:
    timeline = Timeline()
    spoken(timeline, ("One. ", 500), ("alpha beta gamma", 1600))
    heard = timeline.cancel(500 + 1200, dropped_samples=0, rest_characters=0, sample_rate=24000)
    assert (heard.text, heard.characters, heard.estimated) == ("One. alpha beta", 15, True)


@pytest.mark.parametrize("ended", [True, False])
def test_what_was_heard_of_speech_that_went_wrong_says_nothing(ended: bool) -> None:
    timeline = Timeline()
    spoken(timeline, ("aaaa bbbb ", 1000))
    timeline.add("cccc dddd eeee ffff ")
    timeline.begin()
    timeline.heard(700)
    timeline.begin_again(700)
    timeline.heard(2000 if ended else 1200)
    if ended:
        timeline.end("stop")
    heard = timeline.cancel(2700, dropped_samples=0, rest_characters=0, sample_rate=24000)
    assert (heard.text, heard.characters, heard.estimated) == ("aaaa bbbb cccc dddd", 19, True)
    assert timeline.samples == (3700 if ended else 2900)


def test_what_is_still_being_made_is_estimated_at_the_speed_so_far() -> None:
    timeline = Timeline()
    spoken(timeline, ("aaaa bbbb ", 1000))  # 100 samples a character
    timeline.add("cccc dddd eeee ffff ")
    timeline.begin()
    timeline.heard(1200)
    heard = timeline.cancel(2000, dropped_samples=0, rest_characters=0, sample_rate=24000)
    assert (heard.text, heard.characters, heard.estimated) == ("aaaa bbbb cccc dddd", 19, True)


def test_audio_that_never_left_was_not_heard_and_does_not_count() -> None:
    timeline = Timeline()
    timeline.add("one two three four")
    timeline.begin()
    timeline.heard(2400)
    heard = timeline.cancel(10**9, dropped_samples=2400, rest_characters=0, sample_rate=24000)
    assert (heard.text, heard.characters, timeline.samples) == ("", 0, 0)


def test_a_sentence_without_a_word_is_not_spoken_and_counts_as_text() -> None:
    timeline = Timeline()
    for sentence in ("...", "Hi. ", " - "):
        timeline.add(sentence)
    assert timeline.begin().start == 3
    timeline.heard(10)
    timeline.end("stop")
    assert timeline.begin() is None and not timeline


def test_what_was_heard_of_figures_in_words_is_told_as_it_was_appended() -> None:
    """The figure takes two thirds of the words: half of the time is still before its end."""
    written = "Pay $1,250.75 today please."
    words = normalise(written)
    timeline = Timeline()
    timeline.add(written)
    timeline.begin()
    timeline.say(words)
    timeline.heard(len(words.text) * 100)
    timeline.end("stop")
    half, most = len(words.text) * 50, len(words.text) * 85
    assert timeline.cancel(half, 0, 0, 24000).text == "Pay"
    timeline.add(written)
    timeline.begin()
    timeline.say(words)
    first = timeline.samples
    timeline.heard(len(words.text) * 100)
    timeline.end("stop")
    assert timeline.cancel(first + most, 0, 0, 24000).text == "Pay $1,250.75"


@pytest.mark.parametrize("text", ["It costs $5.", "See no. 3.", "In 2024."])
def test_a_full_stop_after_a_figure_may_be_its_point(text: str) -> None:
    splitter = SentenceSplitter()
    splitter.push(text)
    assert not splitter.seems_complete


@pytest.mark.parametrize("figure", ["$1,234,567.89", "3/4/2025", "12:30:45", "+1 415 555 2671", "9:30 am"])
def test_a_figure_is_never_cut_whatever_its_tokens(figure: str) -> None:
    text = f"All of this is said without any end and comes with {figure} and then goes on and on and on"
    for most in range(40, 80):
        for size in (1, 3, 7, len(text)):
            splitter = SentenceSplitter(most_characters=most)
            found = [s for at in range(0, len(text), size) for s in splitter.push(text[at : at + size])]
            found += splitter.flush()
            assert "".join(found) == text
            assert any(figure in sentence for sentence in found), (most, size, found)


def test_what_was_heard_of_a_respelt_word_is_told_as_it_was_appended() -> None:
    timeline = Timeline()
    text = "One Xy two."
    timeline.add(text)
    timeline.begin()
    timeline.say(Lexicon.of({"Xy": "ten letters long"}).respell(text)[0])
    said = len("One ten letters long two.")
    timeline.heard(100 * said)
    timeline.end("stop")
    assert timeline.cancel(100 * len("One ten lett"), 0, 0, 24_000).text == "One"


class _CountedLexicon(Lexicon):
    """Knows how many characters it has looked at."""

    looked_at = 0

    def ranges(self, text: str, *_: object, growing: bool = False) -> list[tuple[int, int]]:
        _CountedLexicon.looked_at += len(text)
        return super().ranges(text, growing=growing)


def test_text_without_an_end_is_looked_at_a_few_times_and_not_for_each_cut() -> None:
    """It is looked through on the event loop, and 8192 characters of it may wait."""
    splitter = SentenceSplitter()
    splitter.lexicon = _CountedLexicon(Lexicon.of({"b c": "d"}).tables)
    found = splitter.push("a b c " * 1300)
    assert len(found) > 15 and not any(sentence.endswith("b ") for sentence in found)
    assert _CountedLexicon.looked_at < 4 * 7800
