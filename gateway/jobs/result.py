"""The audio of a job as a file, made while it is sent: neither memory nor disk ever holds it twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.audio.chapters import ChapterMark
from gateway.audio.encoders import stream_encoder, with_flac_length
from gateway.audio.formats import Resampler, output_sample_rate
from gateway.audio.wav import UNKNOWN_BYTES, wav_header
from gateway.jobs.chapters import mark_chapters
from gateway.jobs.files import JobFiles

_PIECE_SECONDS = 5


@dataclass(frozen=True)
class ResultFormat:
    """What is asked for. None leaves a choice to the format."""

    format: str
    sample_rate: int | None = None
    bit_rate: int | None = None


def marks_of(files: JobFiles, sample_rate: int) -> list[ChapterMark]:
    """When they are heard, as far as they were spoken. Blocks. Raises OSError."""
    return mark_chapters(files.chapters, files.parts(), sample_rate) if sample_rate else []


def result_pieces(
    audio: Path,
    audio_bytes: int,
    sample_rate: int,
    wanted: ResultFormat,
    marks: Sequence[ChapterMark],
    *,
    noted: bool,
) -> Iterator[bytes]:
    """The file of s16le `audio` at `sample_rate`, piece by piece. Blocks: for a thread. Raises OSError."""
    rate = output_sample_rate(wanted.format, wanted.sample_rate, sample_rate)
    samples = audio_bytes // 2 if rate == sample_rate else None
    resampler = Resampler(sample_rate, rate)
    header = b""
    if wanted.format == "wav":
        size = UNKNOWN_BYTES if samples is None else min(2 * samples, UNKNOWN_BYTES)
        header = wav_header(rate, size, noted=noted)
    format = "pcm" if wanted.format == "wav" else wanted.format
    encoder = stream_encoder(format, rate, noted=noted, bit_rate=wanted.bit_rate, marks=marks)
    with audio.open("rb") as file:
        left = audio_bytes
        while pcm := file.read(min(left, 2 * _PIECE_SECONDS * sample_rate)):
            left -= len(pcm)
            data = header + encoder.encode(resampler.process(pcm, last=not left))
            if data and format == "flac":
                data, format = with_flac_length(data, samples), ""
            header = b""
            yield data
    yield header + encoder.finish()
