"""Sessions as one zip file, made while it is sent: neither memory nor disk ever holds the whole."""

from __future__ import annotations

import contextlib
import io
import json
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gateway.files.plain_files import open_file
from gateway.sessions.storage import files
from gateway.sessions.storage.recording_files import read_timeline
from gateway.sessions.storage.shape import DamagedSession

_PIECE_BYTES = 1 << 18
_ZIP64_BYTES = 1 << 31
_FIRST_TIME = (1980, 1, 1, 0, 0, 0)
"""That a zip file can state; before a machine without a clock has asked for the time it is 1970."""


@dataclass(frozen=True)
class Part:
    """One session of a zip file."""

    folder: Path
    """Where it is on disk."""
    meta: dict[str, Any]
    """Added to its meta.json."""
    stem: str
    """What its files are called."""
    prefix: str = ""
    """What its names in the zip file begin with."""


def with_folders(parts: Iterable[Part]) -> list[Part]:
    """Each in a folder of its own, called by its stem."""
    taken: Counter[str] = Counter()
    found = []
    for part in parts:
        taken[part.stem] += 1
        again = f"-{taken[part.stem]}" if taken[part.stem] > 1 else ""
        found.append(replace(part, prefix=f"{part.stem}{again}/"))
    return found


def stream_zip(parts: Iterable[Part]) -> Iterator[bytes]:
    """The pieces of the file. Blocks while it reads: for a thread.

    Raises OSError; what is missing on disk is missing in the file.
    """
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as archive:
        for part in parts:
            yield from _session(archive, sink, part)
    yield sink.take()


def _session(archive: zipfile.ZipFile, sink: _Sink, part: Part) -> Iterator[bytes]:
    folder = part.folder
    meta = {**(files.read_json(folder / files.META) or {}), **part.meta}
    told = {files.META: meta}
    with contextlib.suppress(DamagedSession):  # its audio is there all the same
        told[files.TIMELINE] = read_timeline(folder)
    for name, value in told.items():
        entry = _entry(part.prefix + name, zipfile.ZIP_DEFLATED)
        archive.writestr(entry, json.dumps(value, ensure_ascii=False))
        yield sink.take()
    for path in files.utterance_files(folder):
        if path.is_file():
            yield from _stored(archive, sink, path, part.prefix + path.relative_to(folder).as_posix())
    if (folder / files.MERGED).is_file():
        yield from _stored(archive, sink, folder / files.MERGED, f"{part.prefix}{part.stem}.wav")


def _stored(archive: zipfile.ZipFile, sink: _Sink, path: Path, name: str) -> Iterator[bytes]:
    large = path.stat().st_size > _ZIP64_BYTES
    with (
        open_file(path) as source,
        archive.open(_entry(name, zipfile.ZIP_STORED), "w", force_zip64=large) as target,
    ):
        while piece := source.read(_PIECE_BYTES):
            target.write(piece)
            yield sink.take()


def _entry(name: str, compression: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, max(time.gmtime()[:6], _FIRST_TIME))
    entry.compress_type = compression
    return entry


class _Sink(io.RawIOBase):
    """What the zip writer writes to: cannot seek, keeps only what was not taken yet."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        return len(piece)

    def take(self) -> bytes:
        """Everything written since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
