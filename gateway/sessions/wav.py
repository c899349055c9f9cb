"""WAV files that grow: s16le, mono, with a header that is true after every append.

All functions block and raise OSError.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

WAV_HEADER_BYTES = 44
MAX_WAV_BYTES = 0xFFFF_FFFF - WAV_HEADER_BYTES
"""Longest audio data that a WAV file can state."""
_COPY_BYTES = 1 << 20


class WavFile:
    """s16le mono audio that grows; after each append the header states the true size."""

    def __init__(self, path: Path, sample_rate: int) -> None:
        """Raises FileExistsError."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self.sample_rate = sample_rate
        self.data_bytes = 0
        try:
            write_all(self._descriptor, wav_header(sample_rate, 0))
        except OSError:
            self.close()
            raise

    def append(self, pcm: bytes) -> None:
        """Add samples. When that fails, the file ends where it ended before."""
        end = WAV_HEADER_BYTES + self.data_bytes
        if self.data_bytes + len(pcm) > MAX_WAV_BYTES:
            raise OverflowError("a WAV file holds 4 GiB at most")
        os.lseek(self._descriptor, end, os.SEEK_SET)
        try:
            write_all(self._descriptor, pcm)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, end)
            raise
        self.data_bytes += len(pcm)
        os.pwrite(self._descriptor, wav_header(self.sample_rate, self.data_bytes), 0)

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def wav_header(sample_rate: int, data_bytes: int) -> bytes:
    """The 44 bytes in front of s16le mono samples."""
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + data_bytes, b"WAVE", b"fmt ", 16, 1, 1, sample_rate,
        2 * sample_rate, 2, 16, b"data", data_bytes,
    )  # fmt: skip


def wav_sample_rate(path: Path) -> int:
    """Of a file that `WavFile` began. Raises ValueError when it has no whole header."""
    with path.open("rb") as file:
        header = file.read(WAV_HEADER_BYTES)
    if len(header) < WAV_HEADER_BYTES or header[:4] != b"RIFF":
        raise ValueError(f"{path.name} has no WAV header")
    return struct.unpack_from("<I", header, 24)[0]


def repair_wav(path: Path) -> None:
    """After a crash: make the header state what is there. A file without a header goes."""
    try:
        sample_rate = wav_sample_rate(path)
    except ValueError:
        path.unlink()
        return
    data_bytes = (path.stat().st_size - WAV_HEADER_BYTES) // 2 * 2
    os.truncate(path, WAV_HEADER_BYTES + data_bytes)
    with path.open("r+b") as file:
        file.write(wav_header(sample_rate, data_bytes))


def read_growing(path: Path) -> tuple[int, Iterator[bytes]]:
    """The size of a WAV file as it is now, and its bytes until there, though it may grow meanwhile.

    Raises FileNotFoundError.
    """
    size_bytes = path.stat().st_size // 2 * 2
    if size_bytes < WAV_HEADER_BYTES:
        raise FileNotFoundError(path.name)
    return size_bytes, _read_until(path, size_bytes)


def _read_until(path: Path, size_bytes: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        header = file.read(WAV_HEADER_BYTES)
        sample_rate = struct.unpack_from("<I", header, 24)[0]
        yield wav_header(sample_rate, size_bytes - WAV_HEADER_BYTES)
        left = size_bytes - WAV_HEADER_BYTES
        while left > 0 and (piece := file.read(min(left, _COPY_BYTES))):
            left -= len(piece)
            yield piece


def read_pcm(path: Path) -> Iterator[bytes]:
    """The samples of a WAV file that `WavFile` wrote, piece by piece."""
    with path.open("rb") as file:
        file.seek(WAV_HEADER_BYTES)
        while pcm := file.read(_COPY_BYTES):
            yield pcm


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, or OSError: a disk that fills up first takes a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
