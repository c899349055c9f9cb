"""Binary messages of the wire: a fixed header with a checksum, then latents, then PCM.

Little-endian throughout. The header has 100 bytes: magic "VXFL", version u8, kind u8, flags u8 (bit 0: the
last; 1 to 3: its flaw; 4: silent), finish reason u8, attempt u32, sequence u32, samples u32, latent values
u32, engine step u64, request id (64 bytes, zero padded), CRC32 over everything else. A patch of 160 ms at
48 kHz with latents [4, 64] is 16,484 bytes.

Imported through `worker.protocol`, which says when each frame is sent.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

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
    """The end of a request without a patch."""


_KINDS = {int(kind): kind for kind in FrameKind}

FINISH_REASONS = ("", "stop", "length", "cancelled", "runaway", "error")
"""Index = code on the wire; 0 is none."""

FLAWS = ("", "clipped", "quiet", "repeated", "noisy", "long", "short", "silent")
"""What may be wrong with speech, from least to worst; index = code on the wire."""

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
    """One binary message. `sequence` is the patch number of AUDIO, and of HEARTBEAT and FINAL the next one's.

    A receiver that holds n patches of this attempt's request takes AUDIO with sequence n and nothing else.
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
    """Of the whole speech with its last patch, of the speech so far where one is found before. Told to who
    asked for it (`StartRequest.watch`).
    """
    silent: bool = False
    """Nobody hears the patch. Told to the same."""

    @property
    def samples(self) -> int:
        """Samples of audio in this frame."""
        return len(self.pcm) // 2


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
        raise ProtocolError(f"a {frame.kind.name} frame has no payload")
    if frame.kind is not FrameKind.AUDIO and frame.last != (frame.kind is FrameKind.FINAL):
        raise ProtocolError(f"a {frame.kind.name} frame is {'never' if frame.last else 'always'} the last")


def encode_frame(frame: Frame) -> bytes:
    """The frame's bytes. Raises ProtocolError when it breaks a rule of its kind or exceeds a field."""
    _check_frame(frame)
    try:
        reason = FINISH_REASONS.index(frame.finish_reason or "")
        flags = frame.last * _FLAG_LAST | FLAWS.index(frame.flaw) << _FLAW_SHIFT
        flags |= frame.silent * _FLAG_SILENT
        kind = (frame.kind, flags, reason)
        counts = (frame.attempt, frame.sequence, frame.samples, len(frame.latents) // 4, frame.step)
        header = _HEADER.pack(_MAGIC, PROTOCOL_VERSION, *kind, *counts, frame.request_id.encode("ascii"))
    except (ValueError, struct.error) as error:
        raise ProtocolError(f"a field does not fit the header: {error}") from error
    if HEADER_BYTES + len(frame.latents) + len(frame.pcm) > MAX_FRAME_BYTES:
        raise ProtocolError(f"a frame has at most {MAX_FRAME_BYTES} bytes")
    checksum = zlib.crc32(frame.pcm, zlib.crc32(frame.latents, zlib.crc32(header)))
    return b"".join((header, _CHECKSUM.pack(checksum), frame.latents, frame.pcm))


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
        samples,
        latent_values,
        step,
        raw_id,
        checksum,
    ) = _SUMMED_HEADER.unpack_from(data)
    if magic != _MAGIC or version != PROTOCOL_VERSION:
        raise ProtocolError("not a frame of this protocol version")
    if checksum != zlib.crc32(memoryview(data)[HEADER_BYTES:], zlib.crc32(data[: _HEADER.size])):
        raise ProtocolError("the checksum does not match")
    pcm_start = HEADER_BYTES + 4 * latent_values
    if len(data) != pcm_start + 2 * samples:
        raise ProtocolError("the payload is not as long as the header says")
    flaw = flags >> _FLAW_SHIFT & _FLAW_BITS
    if flags >= 2 * _FLAG_SILENT or reason >= len(FINISH_REASONS) or kind not in _KINDS:
        raise ProtocolError("a field of the header has an unknown value")
    frame = Frame(
        _KINDS[kind],
        raw_id.rstrip(b"\0").decode("ascii", "replace"),
        attempt,
        sequence,
        step,
        data[HEADER_BYTES:pcm_start],
        data[pcm_start:],
        bool(flags & _FLAG_LAST),
        FINISH_REASONS[reason] or None,
        FLAWS[flaw],
        bool(flags & _FLAG_SILENT),
    )
    _check_frame(frame)
    return frame
