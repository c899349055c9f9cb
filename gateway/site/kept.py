"""Editions of all gateways that share a data folder, a zip file each.

While gateways are upgraded in turn, a page of one asks any of them for its files. So does a page that was
opened before an upgrade, long after it.
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path

import structlog

from gateway.files.plain_files import open_file
from gateway.files.whole_files import write_atomically
from gateway.site.edition import Edition, File, media_type

logger = structlog.get_logger(__name__)

MOST_EDITIONS = 8
"""The latest ones; some MB each."""
_FILES_IN_MEMORY = 64
_UNREADABLE = (OSError, KeyError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)
"""A file of a zip that is not there, or damaged: by one wrong bit it is encrypted, or ends too early."""


class KeptEditions:
    """The editions kept in `folder`; any number of processes may keep theirs there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = lru_cache(_FILES_IN_MEMORY)(self._read_from_disk)

    def keep(self, edition: Edition) -> None:
        """Have it there for others, too. Where the disk does not take it, it is served from here alone."""
        path = self._path(edition.version)
        try:
            self._folder.mkdir(exist_ok=True)
            if path.exists():
                os.utime(path)
                return
            write_atomically(path, _packed(edition))
            self._forget_the_oldest()
        except OSError as error:
            logger.warning("the files of the pages are not kept for other gateways", error=str(error))

    def file(self, version: str, path: str) -> File | None:
        """`path` of an edition; None for one that is not here."""
        try:
            return self._read(version, path)
        except _UNREADABLE:
            return None

    def _read_from_disk(self, version: str, path: str) -> File:
        with open_file(self._path(version)) as file, zipfile.ZipFile(file) as packed:
            return File(packed.read(path), media_type(Path(path)))

    def _forget_the_oldest(self) -> None:
        there = sorted(self._folder.glob("v-*.zip"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in there[MOST_EDITIONS:]:
            path.unlink(missing_ok=True)

    def _path(self, version: str) -> Path:
        return self._folder / f"{version}.zip"


def _packed(edition: Edition) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, file in edition.files.items():
            packed.writestr(name, file.body)
    return whole.getvalue()
