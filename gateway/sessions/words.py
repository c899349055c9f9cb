"""When the words of a recorded session were said, as files: SRT, WebVTT, JSON.

What nobody told while it was spoken is found out from the recorded audio, by the aligner where there is one
and it has time, and kept in the timeline.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.sessions import files
from gateway.sessions.recording_files import read_timeline
from gateway.sessions.timeline import as_spoken
from gateway.sessions.wav import file_header
from gateway.timing.aligner import Aligner
from gateway.timing.envelope import Envelope
from gateway.timing.part import SpokenPart, language_of_script
from gateway.timing.subtitles import Cue, cues, srt, timed_fields, vtt
from gateway.timing.words import Timed

_LISTENING_SECONDS = 20.0
"""After so long the rest is estimated."""


@dataclass(frozen=True)
class SessionWords:
    """All text of a session, its words in all of its audio, and where they come from."""

    text: str
    words: list[Timed]
    source: str

    @property
    def cues(self) -> list[Cue]:
        """Lines of subtitles."""
        return cues(self.text, self.words)

    def as_json(self) -> str:
        """Text, words and cues with offsets and seconds."""
        words = [timed_fields(word, self.text[word.start : word.end]) for word in self.words]
        shown = [timed_fields(cue, cue.text) for cue in self.cues]
        facts = {"source": self.source, "text": self.text, "words": words, "cues": shown}
        return json.dumps(facts, ensure_ascii=False)


FORMATS: dict[str, tuple[str, Callable[[SessionWords], str]]] = {
    "srt": ("application/x-subrip", lambda found: srt(found.cues)),
    "vtt": ("text/vtt", lambda found: vtt(found.cues)),
    "json": ("application/json", SessionWords.as_json),
}
"""Media type, and how a file is written."""


async def session_words(folder: Path, aligner: Aligner | None) -> SessionWords:
    """Of a session that has ended. Raises OSError."""
    timeline = await asyncio.to_thread(read_timeline, folder)
    until = asyncio.get_running_loop().time() + _LISTENING_SECONDS
    learnt = False
    for utterance in timeline["utterances"]:
        found: list[dict[str, Any]] = []
        for part in utterance["parts"]:
            known = [word for word in utterance["words"] if part["start"] <= word["start"] < part["end"]]
            if not known or any(word["estimated"] for word in known):
                in_time = asyncio.get_running_loop().time() < until
                known = await _listen(folder, timeline, utterance, part, aligner if in_time else None)
                learnt |= any(not word["estimated"] for word in known)
            found += known
        utterance["words"] = found
    if learnt:
        with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
            await asyncio.to_thread(files.write_json, folder / files.TIMELINE, timeline, durable=False)
    return _together(timeline["utterances"])


async def _listen(
    folder: Path, timeline: dict[str, Any], utterance: dict[str, Any], part: dict[str, Any],
    aligner: Aligner | None,
) -> list[dict[str, Any]]:  # fmt: skip
    rate = utterance["sample_rate"]
    path = files.utterance_file(folder, utterance["index"])
    first = part["first_sample"]
    pcm = await asyncio.to_thread(_samples, path, first, part["end_sample"])
    envelope = Envelope(rate)
    envelope.add(pcm)
    text = utterance["text"][part["start"] : part["end"]]
    given = (timeline.get("request") or {}).get("language") or language_of_script(text, "en")
    spoken = await asyncio.to_thread(as_spoken, text, part)
    said = SpokenPart(spoken, envelope.seconds, envelope.spans(), given.partition("-")[0].lower(), rate, pcm)
    times = await said.times(aligner)
    return [
        {
            "start": part["start"] + word.start,
            "end": part["start"] + word.end,
            "first_sample": first + round(word.start_seconds * rate),
            "end_sample": first + round(word.end_seconds * rate),
            "estimated": times.source != "aligned",
        }
        for word in times.words
    ]


def _samples(path: Path, first: int, end: int) -> bytes:
    with path.open("rb") as file:
        file.seek(len(file_header(path)) + 2 * first)
        return file.read(2 * max(end - first, 0))


def _together(utterances: Sequence[dict[str, Any]]) -> SessionWords:
    text, words, seconds, sources = "", [], 0.0, set()
    for utterance in utterances:
        if text and not text[-1].isspace():
            text += "\n"
        rate = utterance["sample_rate"] or 1
        for word in utterance["words"]:
            sources.add("estimated" if word["estimated"] else "aligned")
            begin, end = (seconds + word[place] / rate for place in ("first_sample", "end_sample"))
            words.append(Timed(len(text) + word["start"], len(text) + word["end"], begin, end))
        text += utterance["text"]
        seconds += utterance["samples"] / rate
    return SessionWords(text, words, "mixed" if len(sources) > 1 else "".join(sources) or "estimated")
