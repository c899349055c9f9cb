"""The audio of a job as a file, made while it is sent: nothing holds it twice, but for m4b."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.audio.chapters import ChapterMark
from gateway.audio.conversion import PIECE_SECONDS, Conversion
from gateway.files.plain_files import open_file
from gateway.jobs.chapters import mark_chapters
from gateway.jobs.files import JobFiles


@dataclass(frozen=True)
class ResultFormat:
    """What is asked for. None leaves a choice to the format."""

    format: str
    sample_rate: int | None = None
    bit_rate: int | None = None


def marks_of(files: JobFiles, sample_rate: int) -> list[ChapterMark]:
    """When they are heard, as far as they were spoken. Blocks. Raises OSError."""
    return mark_chapters(files.chapters, files.parts(), sample_rate) if sample_rate else []


def samples_of(audio: Path, audio_bytes: int, sample_rate: int) -> Iterator[bytes]:
    """A file of s16le samples, some seconds at a time. Blocks. Raises OSError."""
    with open_file(audio) as file:
        left = audio_bytes
        while pcm := file.read(min(left, 2 * PIECE_SECONDS * sample_rate)):
            left -= len(pcm)
            yield pcm


def result_pieces(
    pcm: Iterator[bytes],
    samples: int | None,
    sample_rate: int,
    wanted: ResultFormat,
    marks: Sequence[ChapterMark],
    *,
    noted: bool,
    target: Path | None = None,
    title: str = "",
) -> Iterator[bytes]:
    """s16le samples as a file, piece by piece; with `target` it is written there instead.

    `samples`: how many there are, if that is known. Blocks: for a thread. Raises OSError.
    """
    conversion = Conversion(
        wanted.format,
        sample_rate,
        noted=noted,
        samples=samples,
        output_rate=wanted.sample_rate,
        bit_rate=wanted.bit_rate,
        marks=marks,
        target=target,
        title=title,
    )
    yield from map(conversion.process, pcm)
    yield conversion.process(b"", last=True)
    yield conversion.finish()
