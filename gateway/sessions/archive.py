"""A session as one zip file, made while it is sent: neither memory nor disk ever holds the whole."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateway.sessions import files
from gateway.sessions.recording_files import read_timeline

_PIECE_BYTES = 1 << 18
_ZIP64_BYTES = 1 << 31


def stream_zip(folder: Path, meta: dict[str, Any]) -> Iterator[bytes]:
    """The pieces of the file; `meta` is added to meta.json. Blocks while it reads: for a thread.

    Raises OSError; what is missing on disk is missing in the file.
    """
    sink = _Sink()
    stored_meta = files.read_json(folder / files.META) or {}
    with zipfile.ZipFile(sink, "w") as archive:
        for name, value in ((files.META, {**stored_meta, **meta}), (files.TIMELINE, read_timeline(folder))):
            archive.writestr(_entry(name, zipfile.ZIP_DEFLATED), json.dumps(value, ensure_ascii=False))
            yield sink.take()
        for path in (*files.utterance_files(folder), folder / files.MERGED):
            if path.is_file():
                yield from _stored(archive, sink, path, path.relative_to(folder).as_posix())
    yield sink.take()


def _stored(archive: zipfile.ZipFile, sink: _Sink, path: Path, name: str) -> Iterator[bytes]:
    large = path.stat().st_size > _ZIP64_BYTES
    with (
        path.open("rb") as source,
        archive.open(_entry(name, zipfile.ZIP_STORED), "w", force_zip64=large) as target,
    ):
        while piece := source.read(_PIECE_BYTES):
            target.write(piece)
            yield sink.take()


def _entry(name: str, compression: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, time.gmtime()[:6])
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
