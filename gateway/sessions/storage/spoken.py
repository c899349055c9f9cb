"""A part of a recorded text with its audio: what there is to tell by when its words were said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.files.plain_files import open_file
from gateway.sessions.storage import files
from gateway.sessions.storage.timeline import as_spoken
from gateway.sessions.storage.wav import file_header
from gateway.text.language import told_language
from gateway.timing.envelope import Envelope
from gateway.timing.part import SpokenPart
from gateway.timing.words import Times


def words_of(part: dict[str, Any], utterance: dict[str, Any]) -> list[dict[str, Any]]:
    """The words of an utterance that stand in one of its parts."""
    return [word for word in utterance["words"] if part["start"] <= word["start"] < part["end"]]


def spoken_part(
    folder: Path, timeline: dict[str, Any], utterance: dict[str, Any], part: dict[str, Any]
) -> SpokenPart:
    """Blocks while it reads. Raises OSError, and ValueError for a file that is no WAV, or that the journal
    does not tell of: it was cut off before.
    """
    if (rate := utterance["sample_rate"]) is None:
        raise ValueError("the timeline tells of no audio")
    pcm = _samples(files.utterance_file(folder, utterance["index"]), part["first_sample"], part["end_sample"])
    envelope = Envelope(rate)
    envelope.add(pcm)
    text = utterance["text"][part["start"] : part["end"]]
    given = part.get("language") or (timeline.get("request") or {}).get("language")
    language = (given or told_language(text, ("en",)) or "en").partition("-")[0].lower()
    return SpokenPart(as_spoken(text, part), envelope.seconds, envelope.spans(), language, rate, pcm)


def timeline_words(times: Times, part: dict[str, Any], sample_rate: int) -> list[dict[str, Any]]:
    """As they stand in the timeline."""
    return [
        {
            "start": part["start"] + word.start,
            "end": part["start"] + word.end,
            "first_sample": part["first_sample"] + round(word.start_seconds * sample_rate),
            "end_sample": part["first_sample"] + round(word.end_seconds * sample_rate),
            "estimated": times.source != "aligned",
        }
        for word in times.words
    ]


def estimate_by_audio(folder: Path, timeline: dict[str, Any]) -> None:
    """Let the pauses of the recorded audio tell where nobody has listened. Blocks while it reads."""
    for utterance in timeline["utterances"]:
        found: list[dict[str, Any]] = []
        for part in utterance["parts"]:
            words = words_of(part, utterance)
            if any(word["estimated"] for word in words):
                try:
                    times = spoken_part(folder, timeline, utterance, part).estimated()
                except (OSError, ValueError):  # the audio is not there: its length has to do
                    found += words
                    continue
                words = timeline_words(times, part, utterance["sample_rate"])
            found += words
        utterance["words"] = found


def _samples(path: Path, first: int, end: int) -> bytes:
    with open_file(path) as file:
        file.seek(len(file_header(path)) + 2 * first)
        return file.read(2 * max(end - first, 0))
