"""The takes of a book in order, as one file with chapter marks, and as subtitles.

Made while it is sent: of all the audio, some seconds are in memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gateway.audio.chapters import ChapterMark
from gateway.audio.conversion import PIECE_SECONDS
from gateway.audio.formats import Resampler
from gateway.database import Book, BookBlock, Job
from gateway.jobs.chapters import MOST_CHAPTERS, title_line
from gateway.jobs.files import JobFiles
from gateway.jobs.result import ResultFormat, result_pieces, samples_of
from gateway.jobs.words import JobWords
from gateway.timing.subtitles import Cue
from gateway.timing.words import Granularity


@dataclass(frozen=True)
class Spoken:
    """A block with the take that is heard; None where it has no words, and so is silence."""

    block: BookBlock
    take: Job | None
    files: JobFiles | None

    @property
    def speech_seconds(self) -> float:
        """The length of the take."""
        return self.take.audio_bytes / 2 / self.take.sample_rate if self.take else 0.0

    @property
    def seconds(self) -> float:
        """With the pause after it."""
        return self.speech_seconds + self.block.pause_ms / 1000


def places_without_audio(spoken: Sequence[Spoken]) -> list[int]:
    """Numbers of the blocks, from 1, whose take has no whole file, as in a copy that lacks it. Blocks."""
    return [place for place, each in enumerate(spoken, 1) if each.take is not None and not _is_whole(each)]


def _is_whole(spoken: Spoken) -> bool:
    try:
        return spoken.files.audio.stat().st_size >= spoken.take.audio_bytes
    except FileNotFoundError:
        return False


class Export:
    """A book's audio and times of words, of the takes as they were when it was asked for."""

    granularity: Granularity = "word"

    def __init__(self, book: Book, spoken: Sequence[Spoken]) -> None:
        """At least one of `spoken` has a take."""
        self.book = book
        self._spoken = spoken
        self.sample_rate = next(each.take.sample_rate for each in spoken if each.take)

    @property
    def content(self) -> str:
        """A sum that tells exports with different audio or marks apart."""
        what = [
            [
                each.take and each.take.id,
                each.block.pause_ms,
                each.block.kind == "chapter" and each.block.text,
            ]
            for each in self._spoken
        ]
        return hashlib.sha256(json.dumps([self.book.title, what]).encode()).hexdigest()[:16]

    def marks(self) -> list[ChapterMark]:
        """A chapter begins with each block of that kind; what is before the first has the book's title."""
        starts, at = [], 0.0
        for each in self._spoken:
            if each.block.kind == "chapter" and len(starts) < MOST_CHAPTERS:
                starts.append((title_line(each.block.text), at))
            at += each.seconds
        if not starts or starts[0][1] > 0:
            starts.insert(0, (title_line(self.book.title), 0.0))
        ends = [start for _, start in starts[1:]] + [at]
        return [ChapterMark(title, start, end) for (title, start), end in zip(starts, ends, strict=True)]

    def pieces(self, wanted: ResultFormat, *, noted: bool, target: Path | None = None) -> Iterator[bytes]:
        """The file, piece by piece; with `target` it is written there instead. Blocks. Raises OSError."""
        rates = {each.take.sample_rate for each in self._spoken if each.take}
        samples = sum(self._samples(each) for each in self._spoken) if len(rates) == 1 else None
        return result_pieces(
            self._pcm(), samples, self.sample_rate, wanted, self.marks(), noted=noted, target=target,
            title=self.book.title,
        )  # fmt: skip

    def _samples(self, spoken: Spoken) -> int:
        speech = spoken.take.audio_bytes // 2 if spoken.take else 0
        return speech + self._pause(spoken)

    def _pause(self, spoken: Spoken) -> int:
        return round(spoken.block.pause_ms * self.sample_rate / 1000)

    def _pcm(self) -> Iterator[bytes]:
        for each in self._spoken:
            if each.take is not None:
                resampler = Resampler(each.take.sample_rate, self.sample_rate)
                take = samples_of(each.files.audio, each.take.audio_bytes, each.take.sample_rate)
                yield from map(resampler.process, take)
                yield resampler.process(b"", last=True)
            left = self._pause(each)
            while left > 0:
                samples = min(left, PIECE_SECONDS * self.sample_rate)
                yield bytes(2 * samples)
                left -= samples

    # ------------------------------------------------------------------------------------ when words are said

    @property
    def source(self) -> str:
        """Where the times of words come from; `mixed` where takes differ."""
        sources = {words.source for words, _, _ in self._words()}
        return "mixed" if len(sources) > 1 else "".join(sources) or "estimated"

    def texts(self) -> Iterator[str]:
        """The text of each block, and a blank line after it."""
        return (f"{each.block.text}\n\n" for each in self._spoken)

    def timed(self) -> Iterator[dict[str, Any]]:
        """The words, in the text of all blocks."""
        for words, characters, seconds in self._words():
            for word in words.timed():
                moved = {name: word[name] + characters for name in ("start", "end")}
                moved |= {name: round(word[name] + seconds, 3) for name in ("start_seconds", "end_seconds")}
                yield {**word, **moved}

    def cues(self) -> Iterator[Cue]:
        """Cues of subtitles, each within a block."""
        for words, characters, seconds in self._words():
            for cue in words.cues():
                yield replace(
                    cue,
                    start=cue.start + characters,
                    end=cue.end + characters,
                    start_seconds=cue.start_seconds + seconds,
                    end_seconds=cue.end_seconds + seconds,
                )

    def _words(self) -> Iterator[tuple[JobWords, int, float]]:
        """The words of each take, with the characters and seconds before it."""
        characters, seconds = 0, 0.0
        for each, text in zip(self._spoken, self.texts(), strict=True):
            if each.files is not None:
                yield JobWords(each.files.words, self.granularity), characters, seconds
            characters += len(text)
            seconds += each.seconds
