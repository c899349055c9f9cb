"""When the words of a recorded session were said.

Where nobody has listened while it was spoken, the aligner does now, if there is one and it has time; what it
hears is kept in the timeline.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.sessions.storage import files
from gateway.sessions.storage.recording_files import read_timeline
from gateway.sessions.storage.spoken import spoken_part, timeline_words, words_of
from gateway.timing.aligner import Aligner
from gateway.timing.subtitles import Cue, cues, timed_fields
from gateway.timing.words import Granularity, Timed

_LISTENING_SECONDS = 20.0
"""After so long the rest is estimated."""


@dataclass(frozen=True)
class SessionWords:
    """All text of a session, its words in all of its audio, and where they come from; a `Told`."""

    text: str
    words: list[Timed]
    source: str
    granularity: Granularity = "word"

    def texts(self) -> Iterator[str]:
        """All text in one piece."""
        yield self.text

    def timed(self) -> Iterator[dict[str, Any]]:
        """Words with offsets and seconds."""
        return (timed_fields(word, self.text[word.start : word.end]) for word in self.words)

    def cues(self) -> Iterator[Cue]:
        """Cues of subtitles."""
        return iter(cues(self.text, self.words))


async def session_words(folder: Path, aligner: Aligner | None) -> SessionWords:
    """The words of a session that has ended. Raises OSError, and DamagedSession."""
    timeline = await asyncio.to_thread(read_timeline, folder)
    until = asyncio.get_running_loop().time() + _LISTENING_SECONDS
    learnt = False
    for utterance in timeline["utterances"]:
        found: list[dict[str, Any]] = []
        for part in utterance["parts"]:
            words = words_of(part, utterance)
            estimated = any(word["estimated"] for word in words)
            if aligner is not None and estimated and asyncio.get_running_loop().time() < until:
                with contextlib.suppress(OSError, ValueError):  # the audio is not there
                    said = await asyncio.to_thread(spoken_part, folder, timeline, utterance, part)
                    if (times := await said.heard_by(aligner)) is not None:
                        words, learnt = timeline_words(times, part, utterance["sample_rate"]), True
            found += words
        utterance["words"] = found
    if learnt:
        with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
            await asyncio.to_thread(_keep, folder, timeline)
    return _together(timeline["utterances"])


def _keep(folder: Path, timeline: dict[str, Any]) -> None:
    """With what others have heard meanwhile. Blocks. Raises OSError."""
    with files.changing(folder):
        for utterance, kept in zip(timeline["utterances"], read_timeline(folder)["utterances"], strict=False):
            found: list[dict[str, Any]] = []
            for part in utterance["parts"]:
                words = words_of(part, utterance)
                found += words_of(part, kept) if any(word["estimated"] for word in words) else words
            utterance["words"] = found
        files.write_json(folder / files.TIMELINE, timeline, durable=False)


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
