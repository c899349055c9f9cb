"""Binary messages of the wire: a fixed header with a checksum, then latents and PCM, or tokens and text.

Little-endian throughout. The header has 100 bytes: magic "VXFL", version u8, kind u8, flags u8 (bit 0: the
last; 1 to 3: its flaw; 4: silent), finish reason u8, attempt u32, sequence u32, samples u32, latent values
u32, engine step u64, request id (64 bytes, zero padded), CRC32 over everything else. A patch of 160 ms at
48 kHz with latents [4, 64] is 16,484 bytes. In a frame of text the tokens (u32 each) stand where latents do,
`samples` counts bytes of UTF-8, and what follows them is JSON about the tokens (`TokenFacts`), where that was
asked for.

Imported through `worker.protocol`, which says when each frame is sent.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

from worker.protocol.token_facts import TokenFacts, facts_from_json, facts_to_json

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 1 << 20
"""No frame is larger: what a receiver may set as its message limit."""
REQUEST_ID_PATTERN = r"[A-Za-z0-9_-]{1,64}"


class ProtocolError(ValueError):
    """Bytes or text that are not of this protocol: truncated, corrupted, another version, another type."""


class FrameKind(IntEnum):
    """What a frame carries."""

    AUDIO = 1
    """One patch: its PCM and its latents."""
    HEARTBEAT = 2
    """Nothing but `step`: a request is open and this worker is alive."""
    FINAL = 3
    """The end of a request without a patch or a token."""
    TEXT = 4
    """One token or several, and the text that is certain with them."""


_KINDS = {int(kind): kind for kind in FrameKind}

FINISH_REASONS = ("", "stop", "length", "cancelled", "runaway", "error")
"""Index = code on the wire; 0 is none."""

FLAWS = ("", "clipped", "quiet", "repeated", "noisy", "long", "short", "silent")
"""What may be wrong with speech, from least to worst; index = code on the wire."""

_CONTENT = (FrameKind.AUDIO, FrameKind.TEXT)
"""Frames that may be the last or not."""
_MAGIC = b"VXFL"
_FLAG_LAST = 1
_FLAW_SHIFT, _FLAW_BITS = 1, 0b111
_FLAG_SILENT = 0b1_0000
_HEADER = struct.Struct("<4sBBBBIIIIQ64s")
_CHECKSUM = struct.Struct("<I")
_SUMMED_HEADER = struct.Struct(_HEADER.format + "I")
HEADER_BYTES = _SUMMED_HEADER.size

_REQUEST_ID = re.compile(REQUEST_ID_PATTERN)


@dataclass(slots=True)
class Frame:
    """One binary message. `sequence` is the patch number of AUDIO, the number of the first token of TEXT, and
    of HEARTBEAT and FINAL the next one's.

    A receiver that holds n patches, or tokens, of this attempt's request takes sequence n and nothing else.
    """

    kind: FrameKind
    request_id: str
    attempt: int
    sequence: int
    step: int
    """Engine steps when the frame was made."""
    latents: bytes = b""
    """float32 little-endian, P * D values; what `StartRequest.resume_latents` is put together from."""
    pcm: bytes = b""
    """s16 little-endian mono."""
    last: bool = False
    finish_reason: str | None = None
    """Given exactly when `last`: stop, length, cancelled, runaway or error."""
    flaw: str = ""
    """What is wrong with the whole speech, with its last patch, or with the speech so far. Sent to who
    asked for it (`StartRequest.watch`).
    """
    silent: bool = False
    """Nothing in the patch is audible. Sent as `flaw` is."""
    tokens: tuple[int, ...] = ()
    text: str = ""
    facts: tuple[TokenFacts, ...] = ()
    """Facts about each token, sent to who asked for log probabilities."""

    @property
    def samples(self) -> int:
        """Samples of audio in this frame."""
        return len(self.pcm) // 2

    @property
    def units(self) -> int:
        """Patches or tokens in this frame: by so many the next sequence is higher."""
        return len(self.tokens) if self.kind is FrameKind.TEXT else int(self.kind is FrameKind.AUDIO)


def _check_frame(frame: Frame) -> None:
    """The rules that fields have among each other; broken by a wrong sender, not by a bad line."""
    if not _REQUEST_ID.fullmatch(frame.request_id):
        raise ProtocolError("the request id is not of [A-Za-z0-9_-]{1,64}")
    if frame.last != (frame.finish_reason is not None):
        raise ProtocolError("a frame has a finish reason exactly when it is the last")
    if (frame.flaw or frame.silent) and frame.kind is not FrameKind.AUDIO:
        raise ProtocolError("flaws and silence are told with a patch")
    if len(frame.pcm) % 2 or len(frame.latents) % 4:
        raise ProtocolError("PCM comes in samples of 2 bytes and latents in values of 4")
    if frame.kind is FrameKind.AUDIO:
        if not frame.pcm or not frame.latents:
            raise ProtocolError("an AUDIO frame has PCM and latents")
    elif frame.pcm or frame.latents:
        raise ProtocolError(f"a {frame.kind.name} frame has no audio")
    if frame.kind is FrameKind.TEXT:
        if not frame.tokens or len(frame.facts) not in (0, len(frame.tokens)):
            raise ProtocolError("a TEXT frame has tokens, and facts of all of them or of none")
    elif frame.tokens or frame.text or frame.facts:
        raise ProtocolError(f"a {frame.kind.name} frame has no text")
    if frame.kind not in _CONTENT and frame.last != (frame.kind is FrameKind.FINAL):
        raise ProtocolError(f"a {frame.kind.name} frame is {'never' if frame.last else 'always'} the last")


def encode_frame(frame: Frame) -> bytes:
    """The frame's bytes. Raises ProtocolError when it breaks a rule of its kind or exceeds a field."""
    _check_frame(frame)
    try:
        reason = FINISH_REASONS.index(frame.finish_reason or "")
        flags = frame.last * _FLAG_LAST | FLAWS.index(frame.flaw) << _FLAW_SHIFT
        flags |= frame.silent * _FLAG_SILENT
        state, content, length, rest = _payload(frame)
        kind = (frame.kind, flags, reason)
        counts = (frame.attempt, frame.sequence, length, len(state) // 4, frame.step)
        header = _HEADER.pack(_MAGIC, PROTOCOL_VERSION, *kind, *counts, frame.request_id.encode("ascii"))
    except (ValueError, struct.error) as error:
        raise ProtocolError(f"a field does not fit the header: {error}") from error
    if HEADER_BYTES + len(state) + len(content) + len(rest) > MAX_FRAME_BYTES:
        raise ProtocolError(f"a frame has at most {MAX_FRAME_BYTES} bytes")
    checksum = zlib.crc32(rest, zlib.crc32(content, zlib.crc32(state, zlib.crc32(header))))
    return b"".join((header, _CHECKSUM.pack(checksum), state, content, rest))


def _payload(frame: Frame) -> tuple[bytes, bytes, int, bytes]:
    """What the next worker needs; what the client gets, and its length in the header; facts about it."""
    if frame.kind is not FrameKind.TEXT:
        return frame.latents, frame.pcm, frame.samples, b""
    state = struct.pack(f"<{len(frame.tokens)}I", *frame.tokens)
    content = frame.text.encode()
    return state, content, len(content), facts_to_json(frame.facts) if frame.facts else b""


def decode_frame(data: bytes) -> Frame:
    """The inverse of `encode_frame`. Raises ProtocolError for anything that `encode_frame` did not make."""
    if not HEADER_BYTES <= len(data) <= MAX_FRAME_BYTES:
        raise ProtocolError(f"{len(data)} bytes are not a frame")
    (
        magic,
        version,
        kind,
        flags,
        reason,
        attempt,
        sequence,
        length,
        state_values,
        step,
        raw_id,
        checksum,
    ) = _SUMMED_HEADER.unpack_from(data)
    if magic != _MAGIC or version != PROTOCOL_VERSION:
        raise ProtocolError("not a frame of this protocol version")
    if checksum != zlib.crc32(memoryview(data)[HEADER_BYTES:], zlib.crc32(data[: _HEADER.size])):
        raise ProtocolError("the checksum does not match")
    flaw = flags >> _FLAW_SHIFT & _FLAW_BITS
    if flags >= 2 * _FLAG_SILENT or reason >= len(FINISH_REASONS) or kind not in _KINDS:
        raise ProtocolError("a field of the header has an unknown value")
    frame = Frame(
        _KINDS[kind],
        raw_id.rstrip(b"\0").decode("ascii", "replace"),
        attempt,
        sequence,
        step,
        last=bool(flags & _FLAG_LAST),
        finish_reason=FINISH_REASONS[reason] or None,
        flaw=FLAWS[flaw],
        silent=bool(flags & _FLAG_SILENT),
    )
    content_start = HEADER_BYTES + 4 * state_values
    if frame.kind is FrameKind.TEXT:
        _read_text(frame, data, content_start, content_start + length)
    elif len(data) != content_start + 2 * length:
        raise ProtocolError("the payload is not as long as the header says")
    else:
        frame.latents, frame.pcm = data[HEADER_BYTES:content_start], data[content_start:]
    _check_frame(frame)
    return frame


def _read_text(frame: Frame, data: bytes, start: int, end: int) -> None:
    """Fills in tokens, text and facts. Raises ProtocolError."""
    if end > len(data):
        raise ProtocolError("the payload is not as long as the header says")
    frame.tokens = struct.unpack(f"<{(start - HEADER_BYTES) // 4}I", data[HEADER_BYTES:start])
    try:
        frame.text = data[start:end].decode()
        frame.facts = facts_from_json(data[end:]) if end < len(data) else ()
    except ValueError as error:
        raise ProtocolError("the text of a frame cannot be read") from error
