"""The beginning of a WAV file of mono samples, and where in it the samples begin."""

from __future__ import annotations

import struct

from gateway.audio.note import info_chunk

UNKNOWN_BYTES = 0xFFFF_FFFF
"""As the size of the samples: they end where the file ends."""
MAX_HEADER_BYTES = 1024
"""Longer than any header that `wav_header` makes."""
_RIFF_BYTES = 12
_CHUNK_BYTES = 8
_FORMATS = {"pcm": (1, 16), "f32": (3, 32), "alaw": (6, 8), "ulaw": (7, 8)}
"""Tag and bits of a sample, by the format of the samples."""
_FORMAT = struct.Struct("<4sIHHIIHH")


def wav_header(sample_rate: int, data_bytes: int, *, noted: bool, samples: str = "pcm") -> bytes:
    """All that stands before the samples; `noted`: with the note that a model made them.

    `samples`: "pcm" for s16le, "f32" for floats, "ulaw" or "alaw".
    """
    tag, bits = _FORMATS[samples]
    chunks = _FORMAT.pack(b"fmt ", 16, tag, 1, sample_rate, sample_rate * bits // 8, bits // 8, bits)
    chunks += info_chunk() if noted else b""
    header = b"RIFF" + bytes(4) + b"WAVE" + chunks + b"data" + bytes(4)
    return with_data_size(header, data_bytes)


def with_data_size(header: bytes, data_bytes: int) -> bytes:
    """The header for so many bytes of samples."""
    whole = UNKNOWN_BYTES if data_bytes == UNKNOWN_BYTES else len(header) - _CHUNK_BYTES + data_bytes
    size, data_size = struct.pack("<I", whole), struct.pack("<I", data_bytes)
    return header[:4] + size + header[8:-4] + data_size


def read_header(beginning: bytes) -> bytes:
    """The header of the file that begins so. Raises ValueError when there is no whole one."""
    if beginning[:4] != b"RIFF" or beginning[8:16] != b"WAVEfmt ":
        raise ValueError("this is no header of a WAV file")
    offset = _RIFF_BYTES
    while len(chunk := beginning[offset : offset + _CHUNK_BYTES]) == _CHUNK_BYTES:
        name, size = struct.unpack("<4sI", chunk)
        offset += _CHUNK_BYTES
        if name == b"data":
            return beginning[:offset]
        offset += size + size % 2
    raise ValueError("the header of the WAV file is cut off")


def check_plain(header: bytes) -> None:
    """Raises ValueError unless the samples are mono s16le."""
    _, _, tag, channels, _, _, _, bits = _FORMAT.unpack_from(header, _RIFF_BYTES)
    if (tag, bits) != _FORMATS["pcm"] or channels != 1:
        raise ValueError("the samples are not mono PCM of 16 bits")


def header_sample_rate(header: bytes) -> int:
    """The sample rate that a header states, in Hz."""
    return struct.unpack_from("<I", header, 24)[0]


def header_data_bytes(header: bytes) -> int:
    """How many bytes of samples it states."""
    return struct.unpack("<I", header[-4:])[0]
