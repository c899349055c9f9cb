"""WAV files that grow: s16le, mono, with a header that is true after every append.

All functions block and raise OSError, and ValueError for a file without a whole header.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from gateway.audio.note import SOURCE_TYPE
from gateway.audio.wav import (
    MAX_HEADER_BYTES,
    header_data_bytes,
    header_sample_rate,
    read_header,
    wav_header,
    with_data_size,
)
from gateway.files.plain_files import is_plain, open_file

MAX_WAV_BYTES = 0xFFFF_FFFF - MAX_HEADER_BYTES
"""Longest audio data that a WAV file can state."""
_COPY_BYTES = 1 << 20


class WavFile:
    """s16le mono audio that grows; after each append the header states the true size."""

    def __init__(self, path: Path, sample_rate: int, *, noted: bool) -> None:
        """`noted`: the file says that a model made it. Raises FileExistsError, and OSError: there is none."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._header = wav_header(sample_rate, 0, noted=noted)
        self.data_bytes = 0
        try:
            write_all(self._descriptor, self._header)
        except OSError:
            self.close()
            path.unlink(missing_ok=True)
            raise

    def append(self, pcm: bytes) -> None:
        """Add samples. When that fails, the file ends where it ended before."""
        end = len(self._header) + self.data_bytes
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
        os.pwrite(self._descriptor, with_data_size(self._header, self.data_bytes), 0)

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def file_header(path: Path) -> bytes:
    """What stands before the samples of a file that `WavFile` began."""
    with open_file(path) as file:
        return read_header(file.read(MAX_HEADER_BYTES))


def wav_sample_rate(path: Path) -> int:
    """The sample rate of a WAV file, in Hz."""
    return header_sample_rate(file_header(path))


def is_noted(path: Path) -> bool:
    """Whether the file says that a model made it."""
    return SOURCE_TYPE.encode() in file_header(path)


def data_bytes_on_disk(path: Path) -> int:
    """How many bytes of whole samples there are, whatever the header states."""
    return (path.stat().st_size - len(file_header(path))) // 2 * 2


def states_its_size(path: Path) -> bool:
    """Whether the header tells the truth."""
    return header_data_bytes(file_header(path)) == data_bytes_on_disk(path)


def repair_wav(path: Path) -> None:
    """After a crash: make the header state what is there. A file without a header goes."""
    try:
        header = file_header(path)
    except ValueError:
        path.unlink()
        return
    data_bytes = data_bytes_on_disk(path)
    os.truncate(path, len(header) + data_bytes)
    with open_file(path, "r+b") as file:
        file.write(with_data_size(header, data_bytes))


def read_growing(path: Path) -> tuple[int, Iterator[bytes]]:
    """The size of a WAV file as it is now, and its bytes until there, though it may grow meanwhile.

    Raises FileNotFoundError, also for a file without a whole header.
    """
    if not is_plain(path):
        raise FileNotFoundError(path.name)
    try:
        header, data_bytes = file_header(path), data_bytes_on_disk(path)
    except ValueError as error:
        raise FileNotFoundError(path.name) from error
    return len(header) + data_bytes, _read_until(path, header, data_bytes)


def _read_until(path: Path, header: bytes, data_bytes: int) -> Iterator[bytes]:
    yield with_data_size(header, data_bytes)
    with open_file(path) as file:
        file.seek(len(header))
        left = data_bytes
        while left > 0 and (piece := file.read(min(left, _COPY_BYTES))):
            left -= len(piece)
            yield piece


def read_pcm(path: Path) -> Iterator[bytes]:
    """The samples of a WAV file that `WavFile` wrote, piece by piece."""
    header_bytes = len(file_header(path))
    with open_file(path) as file:
        file.seek(header_bytes)
        while pcm := file.read(_COPY_BYTES):
            yield pcm


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, or OSError: a disk that fills up first takes a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
