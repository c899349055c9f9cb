"""The timeline of a recording: where its parts and words are, in the text and in the audio."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gateway.sessions.storage.timeline import as_spoken, build, estimate_words
from gateway.text import normalise
from gateway.timing.words import locate
from tests.gateway.sessions.recordings import RATE


def test_parts_are_found_in_the_text_they_were_cut_from() -> None:
    text = "  Dr. Who came.\n He sat   down. 再见。"
    ranges = locate(text, ["Dr. Who came. He sat", "down.", "再见。"])
    assert [text[start:end] for start, end in ranges] == ["Dr. Who came.\n He sat", "down.", "再见。"]


def test_words_share_the_time_of_their_part_by_their_characters() -> None:
    part = {"start": 0, "end": 12, "first_sample": 100, "end_sample": 1100}
    words = estimate_words("a bcd 你好 efghi", part, RATE)
    assert [(word["start"], word["end"]) for word in words] == [(0, 1), (2, 5), (6, 7), (7, 8), (9, 12)]
    assert words[0]["first_sample"] == 100 and words[-1]["end_sample"] == 1100
    assert all(a["end_sample"] == b["first_sample"] for a, b in pairwise(words))
    assert words[1]["end_sample"] - words[1]["first_sample"] == pytest.approx(1000 * 3 / 14.6, abs=1)
    assert all(word["estimated"] for word in words)


def test_a_part_ends_where_the_next_begins_and_the_last_with_the_audio() -> None:
    lines = [
        {"type": "utterance", "at": 0, "index": 0, "text": "One. Two.", "parameters": {}},
        {"type": "spoken", "at": 0, "index": 0, "start": 0, "end": 4, "first_sample": 0, "end_sample": None},
        {"type": "audio", "at": 1, "index": 0, "samples": 300, "sample_rate": RATE},
        {"type": "spoken", "at": 1, "index": 0, "start": 5, "end": 9, "first_sample": 300},
        {"type": "audio", "at": 2, "index": 0, "samples": 100},
    ]
    (utterance,) = build(lines)["utterances"]
    assert [(part["first_sample"], part["end_sample"]) for part in utterance["parts"]] == [
        (0, 300),
        (300, 400),
    ]
    assert [(word["start"], word["end_sample"]) for word in utterance["words"]] == [(0, 300), (5, 400)]


def test_a_figure_in_words_takes_the_time_of_its_words() -> None:
    text = "Pay $5.20 now"
    part = {"start": 0, "end": len(text), "first_sample": 0, "end_sample": 3100, "in_words": True}
    words = estimate_words(text, part, RATE)
    assert [text[word["start"] : word["end"]] for word in words] == ["Pay", "$5.20", "now"]
    lengths = [word["end_sample"] - word["first_sample"] for word in words]
    assert sum(lengths) == 3100 and lengths[1] > 6 * max(lengths[0], lengths[2])


def test_a_figure_alone_is_read_in_the_language_of_its_part() -> None:
    part = {"in_words": True, "language": "zh"}
    assert (
        as_spoken("3:30", part).text
        == normalise("3:30", "zh").text
        != as_spoken("3:30", {"in_words": True}).text
    )


def test_a_journal_says_which_parts_were_put_into_words() -> None:
    lines = [
        {"type": "utterance", "at": 0, "index": 0, "text": "Pay $5.20 now", "parameters": {}},
        {"type": "spoken", "at": 0, "index": 0, "start": 0, "end": 13, "first_sample": 0, "in_words": True},
        {"type": "audio", "at": 1, "index": 0, "samples": 3100, "sample_rate": RATE},
    ]
    (utterance,) = build(lines)["utterances"]
    assert utterance["parts"][0]["in_words"] is True
    first, figure, last = utterance["words"]
    assert figure["end_sample"] - figure["first_sample"] > 6 * (last["end_sample"] - last["first_sample"])
    assert first["estimated"]


def test_a_word_takes_the_time_of_its_respelling() -> None:
    text = "Shh Xy hmm"
    respelt = {"Xy": "bcdfghjklm"}
    lines = [
        {"type": "utterance", "at": 0, "index": 0, "text": text, "parameters": {}},
        {"type": "spoken", "at": 0, "index": 0, "start": 0, "end": 10, "first_sample": 0, "respelt": respelt},
        {"type": "audio", "at": 1, "index": 0, "samples": 1600, "sample_rate": RATE},
    ]
    (utterance,) = build(lines)["utterances"]
    ends = [word["end_sample"] for word in utterance["words"]]
    assert ends == [300, 1300, 1600]
    assert [text[word["start"] : word["end"]] for word in utterance["words"]] == ["Shh", "Xy", "hmm"]


def test_words_that_were_told_stand_in_the_timeline_and_none_is_after_the_audio() -> None:
    lines = [
        {"type": "utterance", "at": 0, "index": 0, "text": "One two. Three.", "parameters": {}},
        {"type": "spoken", "at": 0, "index": 0, "start": 0, "end": 8, "first_sample": 0},
        {"type": "audio", "at": 1, "index": 0, "samples": 300, "sample_rate": RATE},
        {"type": "words", "index": 0, "source": "aligned", "words": [[0, 3, 10, 90], [4, 8, 120, 310]]},
        {"type": "spoken", "at": 1, "index": 0, "start": 9, "end": 15, "first_sample": 300},
    ]
    (utterance,) = build(lines)["utterances"]
    found = [(word["first_sample"], word["end_sample"], word["estimated"]) for word in utterance["words"]]
    assert found == [(10, 90, False), (120, 300, False), (300, 300, True)]
