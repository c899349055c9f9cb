"""One part of a text, and when it is said: what there is to go by, and the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from gateway.text import Spoken
from gateway.text.pace import said_up_to
from gateway.timing.aligner import Aligner, AlignmentError
from gateway.timing.alignment import aligned, pieces
from gateway.timing.estimate import estimate
from gateway.timing.words import Source, Timed, Times, characters

logger = structlog.get_logger(__name__)

_LEAST_CONFIDENCE = 0.3
"""An aligner's confidence below which something else was said than what is written."""


@dataclass(frozen=True)
class PartTimes:
    """When the words of a part are said, in the whole text and the whole clip."""

    text: str
    """The part as it is written, with the white space around it."""
    start: int
    """Characters of the text before it."""
    end_seconds: float
    """Where its audio ends."""
    times: Times
    said: tuple[float, ...]
    """How much is said of `text[:n]`, for every n."""

    @classmethod
    def wordless(cls, text: str, seconds: float) -> PartTimes:
        """The times of a text of which nothing is said."""
        return cls(text, 0, seconds, Times("estimated", ()), (0.0,) * (len(text) + 1))

    @property
    def source(self) -> Source:
        """Where the times come from."""
        return self.times.source

    @property
    def words(self) -> tuple[Timed, ...]:
        """The words with their times, in order."""
        return self.times.words

    @property
    def characters(self) -> list[Timed]:
        """All of `text`, in order."""
        words = self.times.moved(-self.start, 0.0).words
        found = characters(self.text, words, self.said, self.end_seconds)
        return [replace(each, start=each.start + self.start, end=each.end + self.start) for each in found]

    def written(self, timed: Timed) -> str:
        """The text that is said in this time."""
        return self.text[timed.start - self.start : timed.end - self.start]

    def moved(self, characters: int, seconds: float) -> PartTimes:
        """In a text and a clip that begin so much earlier."""
        start, end_seconds = self.start + characters, self.end_seconds + seconds
        return replace(
            self, start=start, end_seconds=end_seconds, times=self.times.moved(characters, seconds)
        )

    def within(self, seconds: float) -> PartTimes:
        """The times with none after `seconds`."""
        end_seconds = min(self.end_seconds, seconds)
        return replace(self, end_seconds=end_seconds, times=self.times.in_order(seconds))


def source_of(parts: Sequence[PartTimes]) -> str:
    """Where the times of several parts come from; `mixed` where they differ, empty where there are none."""
    sources = {part.source for part in parts}
    return "mixed" if len(sources) > 1 else "".join(sources)


@dataclass(frozen=True)
class SpokenPart:
    """What is known of a part once its audio is complete."""

    spoken: Spoken
    """Its text as it is said."""
    seconds: float
    """Seconds of its audio."""
    spans: Sequence[tuple[float, float]]
    """When something is said in it."""
    language: str
    sample_rate: int
    pcm: bytes | None = None
    """s16le mono samples; None when they were not kept."""

    def estimated(self) -> Times:
        """By the text and the pauses."""
        return estimate(self.spoken, self.spans).in_order(self.seconds)

    async def heard_by(self, aligner: Aligner) -> Times | None:
        """By whoever listens; None where that came to nothing."""
        said = pieces(self.spoken)
        if not self.pcm or not said:
            return None
        try:
            heard = await aligner.align(self.pcm, self.sample_rate, said, self.language)
        except AlignmentError as error:
            logger.info("times are estimated", reason=str(error))
            return None
        if heard.confidence < _LEAST_CONFIDENCE or len(heard.words) != len(said):
            logger.info("times are estimated", reason="the audio does not fit the text")
            return None
        return aligned(self.spoken, heard.words, self.spans).in_order(self.seconds)

    async def times(self, aligner: Aligner | None) -> Times:
        """The best there is."""
        heard = await self.heard_by(aligner) if aligner is not None else None
        return heard or await asyncio.to_thread(self.estimated)

    async def told(
        self, aligner: Aligner | None, start: int, start_seconds: float, speed: float
    ) -> PartTimes:
        """In the text and the clip, where `start` characters and seconds stand before it."""
        times = (await self.times(aligner)).moved(start, start_seconds, speed)
        said = await asyncio.to_thread(said_up_to, self.spoken)
        end_seconds = start_seconds + self.seconds / speed
        return PartTimes(self.spoken.written, start, end_seconds, times, tuple(said))
