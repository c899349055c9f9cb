"""Cues that can be read, and the files and messages they stand in."""

from __future__ import annotations

import json
from pathlib import Path

from gateway.timing.files import srt, vtt
from gateway.timing.part import PartTimes
from gateway.timing.subtitles import Cue, as_fields, cues, joined
from gateway.timing.words import Timed, Times, find_words

TEXT = (
    "A short one. Then comes a sentence that is so long, with its clauses, that it does not fit into one "
    "cue at all. <Bye> & so on."
)


def even(text: str, seconds_each: float = 0.3) -> tuple[Timed, ...]:
    return tuple(
        Timed(*place, index * seconds_each, (index + 1) * seconds_each)
        for index, place in enumerate(find_words(text))
    )


def test_cues_end_with_sentences_and_clauses_and_are_no_longer_than_two_lines() -> None:
    shown = [cue.text for cue in cues(TEXT, even(TEXT))]
    assert shown == [
        "A short one.",
        "Then comes a sentence that is so long, with its clauses,",
        "that it does not fit into one cue at all.",
        "<Bye> & so on.",
    ]
    many = cues("a " * 100, even("a " * 100))
    assert len(many) > 1 and all(len(cue.text) <= 84 for cue in many)
    assert cues("", ()) == []


def test_a_full_stop_of_an_abbreviation_ends_no_cue() -> None:
    text = "Mr. Smith met Dr. J. R. Jones of the U.S. Army at 3 p.m. today. They talked."
    shown = [cue.text for cue in cues(text, even(text))]
    assert shown == [text.removesuffix(" They talked."), "They talked."]


def test_a_long_pause_ends_a_cue() -> None:
    words = (Timed(0, 3, 0.0, 0.5), Timed(4, 7, 3.0, 3.5))
    assert [cue.text for cue in cues("one two", words)] == ["one", "two"]


def test_files_are_the_same_as_the_studio_writes() -> None:
    known = json.loads((Path(__file__).parent / "subtitles.json").read_text(encoding="utf-8"))
    shown = [Cue(**cue) for part in known["parts"] for cue in part["cues"]]
    assert ("".join(srt(shown)), "".join(vtt(shown))) == (known["files"]["srt"], known["files"]["vtt"])


def test_files_are_srt_and_vtt_to_the_letter() -> None:
    words = (Timed(0, 3, 0.0, 0.5), Timed(4, 9, 3599.9996, 3661.25))
    found = cues("one <two>", words)
    assert "".join(srt(found)) == (
        "1\n00:00:00,000 --> 00:00:00,500\none\n\n2\n01:00:00,000 --> 01:01:01,250\n<two>\n"
    )
    assert "".join(vtt(found)) == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:00.500\none\n\n01:00:00.000 --> 01:01:01.250\n&lt;two&gt;\n"
    )


def test_what_clients_are_told() -> None:
    text = " Hi there."
    times = Times("estimated", (Timed(21, 23, 1.0, 1.5), Timed(24, 30, 1.5, 2.0)))
    part = PartTimes(text, 20, 2.2, times, (0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 7.0))
    by_word = as_fields(part, "word")
    assert by_word["source"] == "estimated"
    assert by_word["words"][1] == {
        "text": "there.", "start": 24, "end": 30, "start_seconds": 1.5, "end_seconds": 2.0,
    }  # fmt: skip
    assert by_word["cues"] == [
        {"text": "Hi there.", "start": 21, "end": 30, "start_seconds": 1.0, "end_seconds": 2.0}
    ]
    by_character = as_fields(part, "character")
    assert "".join(each["text"] for each in by_character["characters"]) == text
    assert by_character["characters"][2] == {
        "text": "i", "start": 22, "end": 23, "start_seconds": 1.25, "end_seconds": 1.5,
    }  # fmt: skip


def test_parts_are_told_as_one() -> None:
    one, two = ({"source": source, "words": [source], "cues": []} for source in ("aligned", "estimated"))
    assert joined([one, one]) == {"source": "aligned", "words": ["aligned", "aligned"], "cues": []}
    assert joined([one, two])["source"] == "mixed"
    assert joined([]) is None
