"""A file that nobody has checked, to PCM.

The container is known by its first bytes, so that no demuxer that follows references is ever tried. The
length that the file claims is looked at before anything is decoded, and decoding stops at the limit, since
claims may lie. Everything happens in one thread: a confined process cannot start another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.filter import Graph
from refusal import Refusal

CODECS = frozenset({"flac", "mp3", "mp3float", "opus", "libopus", "vorbis", "aac", "alac"})
"""And all of PCM."""
LOWEST_RATE, HIGHEST_RATE = 8_000, 384_000
HIGHEST_KEPT_RATE = 48_000
MAX_CHANNELS = 8
MAX_DAMAGED_PACKETS = 20
_ESTIMATE_SLACK = {"mp3": 3.0, "aac": 3.0}
"""By how much the claimed length may be too long where it is no more than an estimate."""
_CLAIM_SLACK = 1.05
_HEAD_BYTES, _TAG_HEAD_BYTES, _MOST_TAGS = 16, 10, 8
_OTHERS = (
    (b"caff", "caf"), (b"#!AMR-WB", "amrwb"), (b"#!AMR", "amrnb"), (b"0&\xb2u\x8ef\xcf\x11", "asf"),
    (b"MThd", "midi"), (b"riff", "w64"), (b".snd", "au"), (b"wvpk", "wavpack"), (b"MAC ", "ape"),
    (b"\x0bw", "ac3"),
)  # fmt: skip
"""Kinds that are not taken, by their first bytes."""


def decode(file: BinaryIO, max_seconds: float) -> tuple[dict[str, object], bytes]:
    """What the file is, and its audio as mono s16. Raises Refusal, and what FFmpeg raises."""
    name = container_of(*beginning(file))
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


def beginning(file: BinaryIO) -> tuple[bytes, bool]:
    """The first bytes behind tags of ID3, which may hold pictures; whether there were any."""
    head, place = file.read(_HEAD_BYTES), 0
    for _ in range(_MOST_TAGS):
        if head[:3] != b"ID3":
            break
        length = sum((byte & 0x7F) << shift for byte, shift in zip(head[6:10], (21, 14, 7, 0), strict=False))
        place += _TAG_HEAD_BYTES + length
        file.seek(place)
        head = file.read(_HEAD_BYTES)
    return head, place > 0


def container_of(head: bytes, tagged: bool = False) -> str:
    """FFmpeg's name of the demuxer for a file that begins so, behind tags of ID3 where it is `tagged`."""
    if head[:4] in (b"RIFF", b"RF64") and head[8:12] == b"WAVE":
        return "wav"
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return "aiff"
    if head[:4] == b"fLaC":
        return "flac"
    if head[:4] == b"OggS":
        return "ogg"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "matroska"
    if head[4:8] == b"ftyp":
        return "mp4"
    if head[:1] == b"\xff" and len(head) > 1 and head[1] & 0xF6 == 0xF0:
        return "aac"
    if tagged or (head[:1] == b"\xff" and len(head) > 1 and head[1] & 0xE6 in (0xE2, 0xE4, 0xE6)):
        return "mp3"
    raise Refusal("audio_format", next((name for mark, name in _OTHERS if head.startswith(mark)), ""))


def check_stream(stream: AudioStream) -> None:
    """Raises Refusal for a codec, a rate or a number of channels that is not taken."""
    context = stream.codec_context
    if context.name not in CODECS and not context.name.startswith("pcm_"):
        raise Refusal("audio_format", context.name)
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
    resampler = Resampler(rate)
    pcm = bytearray()
    for frame in frames_of(container, stream):
        for ready in resampler.resample(frame):
            pcm += bytes(ready.planes[0])[: 2 * ready.samples]
        if len(pcm) > 2 * limit:
            raise Refusal("audio_too_long")
    return bytes(pcm)


class Resampler:
    """Frames to mono s16 at `rate`. As PyAV's, but without the threads that FFmpeg starts for its filters."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._graph: Graph | None = None
        self._layout: tuple[str, str, int] | None = None

    def resample(self, frame: av.AudioFrame | None) -> Iterator[av.AudioFrame]:
        """What is ready after `frame`, or at the end, None. Raises ValueError when frames differ."""
        if frame is not None:
            layout = (frame.format.name, frame.layout.name, frame.sample_rate)
            if self._graph is None:
                self._layout, self._graph = layout, self._filters(frame)
            if layout != self._layout:
                raise ValueError("the format changes within the stream")
        if self._graph is None:
            return
        self._graph.push(frame)
        while True:
            try:
                yield self._graph.pull()
            except (av.BlockingIOError, av.EOFError):
                return

    def _filters(self, frame: av.AudioFrame) -> Graph:
        graph = Graph()
        graph.threads = 1
        source = graph.add(
            "abuffer",
            sample_rate=str(frame.sample_rate),
            sample_fmt=frame.format.name,
            channel_layout=frame.layout.name,
            time_base=str(frame.time_base),
        )
        conversion = graph.add(
            "aformat", sample_rates=str(self._rate), sample_fmts="s16", channel_layouts="mono"
        )
        graph.link_nodes(source, conversion, graph.add("abuffersink")).configure()
        return graph


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
