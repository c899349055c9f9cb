"""PCM of one clip into the file that was asked for.

Workers send s16le mono PCM; everything with a state of its own (resamplers, MP3, Opus, AAC) sits here, behind
the point where the parts of a clip that several workers made are joined.
`encode_clip(pcm, 24000, "mp3", noted=True)` gives a whole file; `gateway/audio/encoders.py` has the same
formats for clips that are not complete yet.
"""

from __future__ import annotations

import io
from fractions import Fraction
from typing import Literal, get_args

import av
import numpy as np
import soundfile
import soxr

from gateway.audio.note import SOFTWARE, SOURCE_TYPE, TAGS
from gateway.audio.wav import wav_header

FileFormat = Literal["wav", "pcm", "mp3", "flac", "opus", "aac"]
AudioFormat = Literal[FileFormat, "ulaw", "alaw", "f32", "wav-ulaw", "wav-alaw", "wav-f32"]
"""ulaw and alaw are telephony's: eight bits a sample, without a header (G.711). f32: f32le from -1 to 1."""
AUDIO_FORMATS: tuple[str, ...] = get_args(FileFormat)
"""What is offered for files."""
CONTENT_TYPES = {
    "ulaw": "audio/basic",
    "alaw": "audio/x-alaw-basic",
    "f32": "application/octet-stream",
    "wav-ulaw": "audio/wav",
    "wav-alaw": "audio/wav",
    "wav-f32": "audio/wav",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
    "mp3": "audio/mpeg",
    "flac": "audio/flac",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "m4b": "audio/mp4",
}
_RATES = {
    "mp3": (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000),
    "opus": (8000, 12000, 16000, 24000, 48000),
    "aac": (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000),
    "m4b": (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000),
}
"""Sample rates that a codec has; the others take any."""
_MOST_BIT_RATES = {"opus": 256_000}
"""Bits per second of one channel; other encoders take their highest for any higher number."""
_USUAL_RATES = {"ulaw": 8000, "alaw": 8000, "wav-ulaw": 8000, "wav-alaw": 8000}
CODECS = {
    "ulaw": ("mulaw", "pcm_mulaw", {}),
    "alaw": ("alaw", "pcm_alaw", {}),
    "mp3": ("mp3", "libmp3lame", {}),
    "opus": ("ogg", "libopus", {"page_duration": "20000"}),
    "aac": ("adts", "aac", {}),
    "m4b": ("ipod", "aac", {"movflags": "+faststart"}),
}
"""Container, codec and container options in FFmpeg's names."""
_NOTE_OPTIONS = {
    "mp3": ({"id3v2_version": "0"}, {}),
    "aac": ({}, {"write_id3v2": "1"}),
}
"""Options of containers whose tags are ID3's: without a note, and with one."""
_BITS_PER_SAMPLE = 4
"""Compressed bit rate per sample of audio: 96 kbit/s at 24 kHz."""
_MAX_BIT_RATE = 192_000


def sample_rate_problem(format: str, sample_rate: int | None) -> str | None:
    """Why `format` cannot have that rate, or None."""
    rates = _RATES.get(format)
    if rates is None or sample_rate is None or sample_rate in rates:
        return None
    return f"{format} has sample rates {', '.join(map(str, rates))}"


def bit_rate_problem(format: str, bit_rate: int | None) -> str | None:
    """Why `format` cannot have that rate, or None."""
    most = _MOST_BIT_RATES.get(format)
    if most is None or bit_rate is None or bit_rate <= most:
        return None
    return f"bit_rate: {format} has at most {most} bits per second"


def output_sample_rate(format: str, asked: int | None, model_rate: int) -> int:
    """What was asked for, else telephony's, the model's, or the codec's next higher one."""
    if asked is not None or format in _USUAL_RATES:
        return asked or _USUAL_RATES[format]
    rates = _RATES.get(format, (model_rate,))
    return min((rate for rate in rates if rate >= model_rate), default=rates[-1])


def content_type_of(format: str, sample_rate: int) -> str:
    """The media type; for PCM with what a player has to know."""
    if format == "pcm":
        return f"{CONTENT_TYPES[format]};rate={sample_rate};channels=1"
    return CONTENT_TYPES[format]


class Resampler:
    """Chunks of s16le PCM from one rate to another; nothing is done when the rates are equal.

    What comes out depends on the samples alone, not on how they are cut: soxr dithers what it makes of s16.
    """

    def __init__(self, input_rate: int, output_rate: int) -> None:
        self._stream = None
        if input_rate != output_rate:
            self._stream = soxr.ResampleStream(input_rate, output_rate, 1, dtype="float32", quality="HQ")

    def process(self, pcm: bytes, last: bool = False) -> bytes:
        """What is ready after `pcm`; with `last`, all the rest."""
        if self._stream is None:
            return pcm
        samples = np.frombuffer(pcm, dtype="<i2").astype(np.float32)
        resampled = self._stream.resample_chunk(samples, last=last)
        return np.rint(resampled).clip(-32768, 32767).astype("<i2").tobytes()


def wav_samples(format: str) -> str | None:
    """The format of the samples in a WAV file: "ulaw" of "wav-ulaw"; None for what is no WAV file."""
    container, _, samples = format.partition("-")
    return (samples or "pcm") if container == "wav" else None


def to_floats(pcm: bytes) -> bytes:
    """s16le samples as f32le."""
    return (np.frombuffer(pcm, dtype="<i2") / np.float32(32768)).astype("<f4").tobytes()


def usual_bit_rate(sample_rate: int) -> int:
    """Bits per second of compressed audio where the client asks for none."""
    return min(sample_rate * _BITS_PER_SAMPLE, _MAX_BIT_RATE)


def note_options(format: str, noted: bool) -> dict[str, str]:
    """Options of the container of `format`, with a note or without."""
    return _NOTE_OPTIONS.get(format, ({}, {}))[noted]


def note_sound_file(file: soundfile.SoundFile) -> None:
    """Put the note into a file that libsndfile is about to write. Its container has a place for it."""
    file.software, file.comment = SOFTWARE, SOURCE_TYPE


def encode_clip(
    pcm: bytes, sample_rate: int, format: str, *, noted: bool, bit_rate: int | None = None
) -> bytes:
    """A whole file of s16le mono PCM, with true sizes in its header; `noted`: it says that a model made it.

    `bit_rate`: of mp3, opus and aac, in bits per second. Takes milliseconds per second of audio: not for an
    event loop.
    """
    if format == "pcm":
        return pcm
    if format == "f32":
        return to_floats(pcm)
    if samples := wav_samples(format):
        data = encode_clip(pcm, sample_rate, samples, noted=noted)
        return wav_header(sample_rate, len(data), noted=noted, samples=samples) + data
    buffer = io.BytesIO()
    if format == "flac":
        _write_flac(buffer, pcm, sample_rate, noted)
    else:
        _write_compressed(buffer, pcm, sample_rate, format, noted, bit_rate)
    return buffer.getvalue()


def _write_flac(buffer: io.BytesIO, pcm: bytes, sample_rate: int, noted: bool) -> None:
    with soundfile.SoundFile(buffer, "w", sample_rate, 1, "PCM_16", format="FLAC") as file:
        if noted:
            note_sound_file(file)
        file.write(np.frombuffer(pcm, dtype="<i2"))


def _write_compressed(
    buffer: io.BytesIO, pcm: bytes, sample_rate: int, format: str, noted: bool, bit_rate: int | None
) -> None:
    container_name, codec, options = CODECS[format]
    options = options | note_options(format, noted)
    with av.open(buffer, "w", format=container_name, options=options) as container:
        container.metadata.update(TAGS if noted else {})
        stream = container.add_stream(codec, rate=sample_rate)
        stream.layout = "mono"
        stream.bit_rate = bit_rate or usual_bit_rate(sample_rate)
        frame = av.AudioFrame.from_ndarray(
            np.frombuffer(pcm, dtype="<i2")[np.newaxis], format="s16", layout="mono"
        )
        frame.sample_rate = sample_rate
        frame.time_base = Fraction(1, sample_rate)
        frame.pts = 0
        for packet in stream.encode(frame):
            container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)
