"""Turns an audio file that somebody sent into PCM. A program of its own: it reads what nobody has checked.

    python -I decode.py 60 <upload >result

Standard output is one line of JSON (`{"sample_rate": 48000, "samples": 96000, ...}` or `{"refused": CODE}`),
then mono s16 little-endian samples. Nothing of ours is imported, and limits are set before anything is read:
address space, processor time, no file may grow, none can be opened but what is open. The container is known
by its first bytes, so that no demuxer that follows references is ever tried. The length that the file claims
is looked at before anything is decoded, and decoding stops at the limit, since claims may lie.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from typing import BinaryIO

import av
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer

ADDRESS_SPACE_BYTES = 512 << 20
PROCESSOR_SECONDS = 10
OPEN_FILES = 16
CODECS = frozenset({"flac", "mp3", "mp3float", "opus", "libopus", "vorbis", "aac"})
"""And all of PCM."""
LOWEST_RATE, HIGHEST_RATE = 8_000, 384_000
HIGHEST_KEPT_RATE = 48_000
MAX_CHANNELS = 8
MAX_DAMAGED_PACKETS = 20
_ESTIMATE_SLACK = {"mp3": 3.0}
"""By how much the claimed length may be too long where it is no more than an estimate."""
_CLAIM_SLACK = 1.05


class Refusal(Exception):
    """Why there is no audio: a code that the parent puts into words."""


def main() -> int:
    """Decode standard input to standard output; `argv[1]` is the longest allowed length in seconds."""
    set_limits()
    output = sys.stdout.buffer
    try:
        facts, pcm = decode(open(0, "rb"), float(sys.argv[1]))  # noqa: SIM115
    except Refusal as refusal:
        facts, pcm = {"refused": str(refusal)}, b""
    except (av.FFmpegError, ValueError, MemoryError, OverflowError, EOFError):
        facts, pcm = {"refused": "audio_unreadable"}, b""
    output.write(json.dumps(facts).encode() + b"\n")
    output.write(pcm)
    output.flush()
    return 0


def set_limits() -> None:
    """For the rest of the process's life."""
    for limit, value in (
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES),
        (resource.RLIMIT_CPU, PROCESSOR_SECONDS),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))


def decode(file: BinaryIO, max_seconds: float) -> tuple[dict[str, object], bytes]:
    """What the file is, and its audio as mono s16. Raises Refusal, and what FFmpeg raises."""
    name = container_of(file.read(16))
    file.seek(0)
    with av.open(file, format=name, metadata_errors="ignore") as container:
        if not container.streams.audio:
            raise Refusal("audio_unreadable")
        stream = container.streams.audio[0]
        check_stream(stream)
        check_claim(name, container, stream, max_seconds)
        stream.codec_context.thread_count = 1
        rate = min(stream.codec_context.sample_rate, HIGHEST_KEPT_RATE)
        pcm = read_samples(container, stream, rate, int(max_seconds * rate))
        facts = {
            "sample_rate": rate,
            "samples": len(pcm) // 2,
            "container": name,
            "codec": stream.codec_context.name,
            "channels": stream.codec_context.channels,
        }
    return facts, pcm


def container_of(head: bytes) -> str:
    """FFmpeg's name of the demuxer for a file that begins so."""
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "wav"
    if head[:4] == b"fLaC":
        return "flac"
    if head[:4] == b"OggS":
        return "ogg"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "matroska"
    if head[4:8] == b"ftyp":
        return "mp4"
    if head[:3] == b"ID3" or (head[:1] == b"\xff" and len(head) > 1 and head[1] & 0xE6 in (0xE2, 0xE4, 0xE6)):
        return "mp3"
    raise Refusal("audio_format")


def check_stream(stream: AudioStream) -> None:
    """Raises Refusal for a codec, a rate or a number of channels that is not taken."""
    context = stream.codec_context
    if context.name not in CODECS and not context.name.startswith("pcm_"):
        raise Refusal("audio_format")
    if not LOWEST_RATE <= context.sample_rate <= HIGHEST_RATE or not 1 <= context.channels <= MAX_CHANNELS:
        raise Refusal("audio_rate")


def check_claim(name: str, container: InputContainer, stream: AudioStream, max_seconds: float) -> None:
    """Raises Refusal for a file that says it is too long. Recordings of browsers say nothing."""
    claims = [0.0]
    if stream.duration is not None and stream.time_base is not None:
        claims.append(float(stream.duration * stream.time_base))
    if container.duration is not None:
        claims.append(container.duration / av.time_base)
    if max(claims) > max_seconds * _ESTIMATE_SLACK.get(name, _CLAIM_SLACK):
        raise Refusal("audio_too_long")


def read_samples(container: InputContainer, stream: AudioStream, rate: int, limit: int) -> bytes:
    """All of the stream at `rate`, at most `limit` samples. Raises Refusal as soon as there are more."""
    resampler = AudioResampler(format="s16", layout="mono", rate=rate)
    pcm = bytearray()
    for frame in frames_of(container, stream):
        for ready in resampler.resample(frame):
            pcm += bytes(ready.planes[0])[: 2 * ready.samples]
        if len(pcm) > 2 * limit:
            raise Refusal("audio_too_long")
    return bytes(pcm)


def frames_of(container: InputContainer, stream: AudioStream) -> Iterator[av.AudioFrame | None]:
    """The frames, None at the end. A recording that was cut off, or is damaged in places, is worth something.

    Raises Refusal when too much of it is damaged.
    """
    damaged = 0
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
            frames = packet.decode() if packet is not None else []
        except av.InvalidDataError:
            damaged += 1
            if damaged > MAX_DAMAGED_PACKETS:
                raise Refusal("audio_unreadable") from None
            continue
        yield from frames
        if packet is None:
            break
    yield None


if __name__ == "__main__":
    sys.exit(main())
