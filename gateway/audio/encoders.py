"""Audio as it comes into a file as it goes out: what a client gets that listens while it is generated.

    encoder = stream_encoder("opus", 24000, noted=True)
    encoder.encode(pcm)     # what is complete of the file by now
    encoder.finish()        # the rest

A frame or two of the codec are all that is held back: at 24 kHz 20 ms of Opus, 48 ms of MP3, 85 ms of AAC,
96 ms of FLAC. A file whose length is not known when it begins says so: the sizes of a WAV header are the
largest there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import av
import numpy as np

from gateway.audio.chapters import ChapterMark, put_marks
from gateway.audio.formats import CODECS, note_options, to_floats, usual_bit_rate, wav_samples
from gateway.audio.note import MP4_TAGS, TAGS
from gateway.audio.wav import UNKNOWN_BYTES, wav_header

_FLAC = ("flac", "flac", {})
_STREAMED_OPTIONS = {"mp3": {"write_xing": "0"}}
"""An MP3 file's length would be written into its beginning at its end, where nobody can go back to it."""
_FLAC_LENGTH = 21
"""Where the five bytes stand of which the last 36 bits are the number of samples."""
_SHORT_MP3_FRAMES = 32_000
"""Hz, below which an MP3 frame has 576 samples. A file begins with 1105 samples of the encoder's delay, which
nothing tells a player to skip: the first frame holds nothing else and is left out. For that no frame may keep
bits in the one before it (`reservoir`).
"""


class Encoder(Protocol):
    """Mono s16le PCM to bytes of a file."""

    def encode(self, pcm: bytes) -> bytes:
        """What is complete after `pcm`; maybe nothing."""

    def finish(self) -> bytes:
        """The end of the file."""


def stream_encoder(
    format: str,
    sample_rate: int,
    *,
    noted: bool,
    bit_rate: int | None = None,
    marks: Sequence[ChapterMark] = (),
    target: Path | None = None,
    title: str = "",
) -> Encoder:
    """An encoder for one clip; `noted`: the file says that a model made it. `bit_rate`: as in `encode_clip`.
    `marks`: chapters, for formats that have a place for them. `target`: the file that is written, of m4b,
    which begins with what is known at its end; then nothing is returned. `title`: of it.

    Its methods take a millisecond or so: not for an event loop.
    """
    if format == "pcm":
        return _Plain()
    if format == "f32":
        return _Floats()
    if samples := wav_samples(format):
        header = wav_header(sample_rate, UNKNOWN_BYTES, noted=noted, samples=samples)
        return _Headed(header, stream_encoder(samples, sample_rate, noted=noted))
    encoder = _Compressed(format, sample_rate, noted, bit_rate, marks, target)
    if title:
        encoder.container.metadata["title"] = title
    return encoder


class _Plain:
    """Passes PCM on as it is."""

    def encode(self, pcm: bytes) -> bytes:
        return pcm

    def finish(self) -> bytes:
        return b""


class _Floats(_Plain):
    """Makes floats of PCM."""

    def encode(self, pcm: bytes) -> bytes:
        return to_floats(pcm)


class _Headed:
    """Puts a header before the samples."""

    def __init__(self, header: bytes, samples: Encoder) -> None:
        self._header = header
        self._samples = samples

    def encode(self, pcm: bytes) -> bytes:
        header, self._header = self._header, b""
        return header + self._samples.encode(pcm)

    def finish(self) -> bytes:
        return self._header + self._samples.finish()


class _Compressed:
    """A codec in its container, by FFmpeg."""

    def __init__(
        self,
        format: str,
        sample_rate: int,
        noted: bool,
        bit_rate: int | None,
        marks: Sequence[ChapterMark],
        target: Path | None = None,
    ) -> None:
        container, codec, options = CODECS.get(format, _FLAC)
        self._sample_rate = sample_rate
        self._samples = 0
        self._sink = _Sink()
        options = options | _STREAMED_OPTIONS.get(format, {}) | note_options(format, noted or bool(marks))
        file = self._sink if target is None else str(target)
        self.container = av.open(file, "w", format=container, options=options)
        tags = MP4_TAGS if format == "m4b" else TAGS
        self.container.metadata.update(tags if noted else {})
        put_marks(self.container, format, marks)
        delayed = format == "mp3" and sample_rate < _SHORT_MP3_FRAMES
        self._left_out = int(delayed)
        """Packets that are still to be left out."""
        codec_options = {"reservoir": "0"} if delayed else {}
        self._stream = self.container.add_stream(codec, rate=sample_rate, options=codec_options)
        self._stream.layout = "mono"
        if format in CODECS:
            self._stream.bit_rate = bit_rate or usual_bit_rate(sample_rate)

    def encode(self, pcm: bytes) -> bytes:
        if not pcm:
            return b""
        samples = np.frombuffer(pcm, dtype="<i2")
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis], format="s16", layout="mono")
        frame.sample_rate = self._sample_rate
        frame.time_base = Fraction(1, self._sample_rate)
        frame.pts = self._samples
        self._samples += len(samples)
        self._write(self._stream.encode(frame))
        return self._sink.take()

    def finish(self) -> bytes:
        self._write(self._stream.encode(None))
        self.container.close()
        return self._sink.take()

    def _write(self, packets: list[av.Packet]) -> None:
        kept, self._left_out = packets[self._left_out :], max(0, self._left_out - len(packets))
        for packet in kept:
            self.container.mux(packet)


def with_flac_length(beginning: bytes, samples: int | None) -> bytes:
    """A FLAC file's beginning that says how many samples there are; None: not known, as it was."""
    if samples is None or samples >= 1 << 36 or beginning[:4] != b"fLaC":
        return beginning
    place = _FLAC_LENGTH
    field = int.from_bytes(beginning[place : place + 5], "big") >> 36 << 36 | samples
    return beginning[:place] + field.to_bytes(5, "big") + beginning[place + 5 :]


class _Sink:
    """A file that only grows."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Called by FFmpeg."""
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """What was written since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
