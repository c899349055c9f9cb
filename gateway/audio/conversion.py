"""Samples that are all there already, as a file: made piece by piece, so that nothing holds all of it.

conversion = Conversion("mp3", 24000, noted=True, samples=48000)
conversion.process(pcm)                 # what is complete of the file by now
conversion.process(rest, last=True)
conversion.finish()                     # the end of the file
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gateway.audio.chapters import ChapterMark
from gateway.audio.encoders import stream_encoder, with_flac_length
from gateway.audio.formats import Resampler, output_sample_rate
from gateway.audio.wav import UNKNOWN_BYTES, wav_header

PIECE_SECONDS = 5
"""Of samples that are converted at a time."""


class Conversion:
    """Mono s16le PCM to a file in `format`. Its methods take milliseconds: not for an event loop."""

    def __init__(
        self,
        format: str,
        sample_rate: int,
        *,
        noted: bool,
        samples: int | None = None,
        output_rate: int | None = None,
        bit_rate: int | None = None,
        marks: Sequence[ChapterMark] = (),
        target: Path | None = None,
        title: str = "",
    ) -> None:
        """`samples`: how many there are, if that is known. `output_rate`: None leaves it to the format.
        `target`, `title`: as in `stream_encoder`.
        """
        rate = output_sample_rate(format, output_rate, sample_rate)
        self._samples = samples if rate == sample_rate else None
        self._resampler = Resampler(sample_rate, rate)
        self._header = b""
        if format == "wav":
            size = UNKNOWN_BYTES if self._samples is None else min(2 * self._samples, UNKNOWN_BYTES)
            self._header = wav_header(rate, size, noted=noted)
        self._is_new_flac = format == "flac"
        codec = "pcm" if format == "wav" else format
        self._encoder = stream_encoder(
            codec, rate, noted=noted, bit_rate=bit_rate, marks=marks, target=target, title=title
        )

    def process(self, pcm: bytes, last: bool = False) -> bytes:
        """What is complete of the file after `pcm`; maybe nothing."""
        return self._begun(self._encoder.encode(self._resampler.process(pcm, last)))

    def finish(self) -> bytes:
        """The end of the file."""
        return self._begun(self._encoder.finish())

    def _begun(self, data: bytes) -> bytes:
        data, self._header = self._header + data, b""
        if data and self._is_new_flac:
            data, self._is_new_flac = with_flac_length(data, self._samples), False
        return data
