"""Words, what they sound like, and when they are said: in order, within the audio, in the text as written."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.text import normalise
from gateway.text.pace import said_up_to
from gateway.timing.alignment import aligned, pieces
from gateway.timing.envelope import Envelope
from gateway.timing.estimate import estimate
from gateway.timing.words import Timed, Times, characters, find_words
from tests.gateway.timing.audio import RATE, noise

SPANS = st.lists(st.floats(0.05, 3.0), min_size=2, max_size=12).map(
    lambda lengths: [*pairwise(_edges(lengths))][::2]
)


def _edges(lengths: list[float]) -> list[float]:
    found = [0.0]
    for length in lengths:
        found.append(found[-1] + length)
    return found


def check_order(timed: list[Timed] | tuple[Timed, ...], seconds: float) -> None:
    assert all(each.start_seconds <= each.end_seconds for each in timed)
    assert all(a.end_seconds <= b.start_seconds + 1e-9 and a.end <= b.start for a, b in pairwise(timed))
    assert not timed or (timed[0].start_seconds >= 0 and timed[-1].end_seconds <= seconds + 1e-9)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, world!", ["Hello,", "world!"]),
        ("  “Well” — he said…", ["“Well”", "he", "said…"]),
        ("It's $5.20\n(about)", ["It's", "$5.20", "(about)"]),
        ("你好，world再见。", ["你", "好，", "world", "再", "见。"]),
        ("— … 😀", []),
        ("", []),
    ],
)
def test_words_of_a_text(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in find_words(text)] == words


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60), SPANS)
def test_whatever_the_text_and_the_pauses_words_are_in_order_and_within(
    text: str, spans: list[tuple[float, float]]
) -> None:
    spoken, seconds = normalise(text), spans[-1][1]
    ranges = find_words(text)
    for times in (
        estimate(spoken, spans).in_order(seconds),
        aligned(spoken, [(5.0, 1.0)] * len(pieces(spoken)), spans).in_order(seconds),
    ):
        check_order(times.words, seconds)
        if times.source == "estimated" or pieces(spoken):
            assert [(word.start, word.end) for word in times.words] == ranges
        timed = characters(text, times.words, said_up_to(spoken), seconds)
        check_order(timed, seconds)
        assert [(each.start, each.end) for each in timed] == [(at, at + 1) for at in range(len(text))]


def test_pauses_are_found_and_clicks_are_none() -> None:
    spans = [(0.3, 0.9), (1.2, 1.5), (1.54, 2.0)]
    envelope, pcm = Envelope(RATE), noise([*spans, (2.3, 2.31)], 2.5)
    for start in range(0, len(pcm), 1234):
        envelope.add(pcm[start : start + 1234])
    assert envelope.seconds == pytest.approx(2.5)
    found = envelope.spans()
    assert [(round(start, 2), round(end, 2)) for start, end in found] == [(0.3, 0.9), (1.2, 2.0)]


def test_silence_and_nothing_are_one_span() -> None:
    envelope = Envelope(RATE)
    assert envelope.spans() == [(0.0, 0.0)]
    envelope.add(bytes(2 * RATE))
    assert envelope.spans() == [(0.0, 1.0)]


def test_a_pause_is_where_the_mark_is() -> None:
    text = "One two three, four five six seven eight."
    times = estimate(normalise(text), [(0.2, 1.3), (1.8, 3.4)])
    ends = {text[word.start : word.end]: word for word in times.words}
    assert ends["three,"].end_seconds == 1.3 and ends["four"].start_seconds == 1.8
    assert (times.words[0].start_seconds, times.words[-1].end_seconds) == (0.2, 3.4)


def test_a_mark_without_a_pause_and_a_pause_without_a_mark() -> None:
    text = "Yes, this is a rather long sentence, and here it goes on."
    spans = [(0.0, 1.95), (2.3, 3.4)]  # no pause after "Yes,", one after "sentence,"
    times = estimate(normalise(text), spans)
    start = {text[word.start : word.end]: word.start_seconds for word in times.words}
    assert start["and"] == 2.3 and start["this"] < 0.6


def test_a_figure_takes_the_time_of_its_words() -> None:
    times = estimate(normalise("Pay $5.20 now"), [(0.0, 3.0)])
    lengths = [word.end_seconds - word.start_seconds for word in times.words]
    assert lengths[1] > 5 * lengths[0]


def test_the_last_word_before_a_mark_takes_longer() -> None:
    times = estimate(normalise("Say, say say"), [(0.0, 3.0)])
    lengths = [word.end_seconds - word.start_seconds for word in times.words]
    assert lengths[0] > 1.2 * lengths[1] and lengths[1] == pytest.approx(lengths[2])


def test_what_was_heard_is_told_of_what_was_written() -> None:
    spoken = normalise("It costs $5.20 at 3 pm.")
    said = pieces(spoken)
    assert "".join(said) == spoken.text and " dollars" in said
    heard = [(float(index), index + 1.0) for index in range(len(said))]
    words = aligned(spoken, heard, [(0.0, float(len(said)))]).words
    told = {spoken.written[word.start : word.end]: (word.start_seconds, word.end_seconds) for word in words}
    assert list(told) == ["It", "costs", "$5.20", "at", "3", "pm."]
    figure = said.index(" five"), said.index(" cents") + 1
    assert told["$5.20"] == pytest.approx(figure, abs=0.05)
    assert told["3"][1] <= told["pm."][0] and told["pm."][1] == pytest.approx(len(said))


def test_boundaries_that_are_near_a_pause_are_that_pause() -> None:
    spoken = normalise("one two three four")
    heard = [(0.0, 0.6), (0.6, 1.4), (1.4, 2.0), (2.0, 2.6)]
    words = aligned(spoken, heard, [(0.2, 1.2), (1.5, 2.5)]).words
    assert words[0].start_seconds == 0.2
    assert (words[1].end_seconds, words[2].start_seconds) == (1.2, 1.5)
    assert words[3].start_seconds == pytest.approx(1.97) and words[3].end_seconds == 2.5


def test_times_move_with_their_clip() -> None:
    times = Times("aligned", (Timed(0, 3, 1.0, 2.0),)).moved(10, 0.5, pace=2.0)
    assert times.words == (Timed(10, 13, 1.0, 1.5),)
