"""The files in a zip that somebody sent: looked up by name, unpacked within a bound, never on disk."""

from __future__ import annotations

import posixpath
import zipfile
from typing import BinaryIO
from urllib.parse import unquote

from refusal import Refusal

MAX_ENTRIES = 10_000
MAX_UNPACKED_BYTES = 64 << 20
"""Of all that is read together."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Archive:
    """The files of a zip file. Raises Refusal for one that is damaged or has too many."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            raise Refusal("document_unreadable") from None
        entries = self._zip.infolist()
        if len(entries) > MAX_ENTRIES:
            raise Refusal("document_too_large")
        self._entries = {entry.filename: entry for entry in entries}
        self._left = MAX_UNPACKED_BYTES

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def check_whole(self) -> None:
        """Raise Refusal where all of its files together are too much to unpack."""
        if sum(entry.file_size for entry in self._entries.values()) > MAX_UNPACKED_BYTES:
            raise Refusal("document_too_large")
        for entry in self._entries.values():
            _check(entry)

    def read(self, name: str) -> bytes:
        """A file of it. What its head says of its size is the most that is unpacked.

        Raises Refusal for one that is missing, damaged, encrypted or too large.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise Refusal("document_unreadable")
        _check(entry)
        self._left -= entry.file_size
        if self._left < 0:
            raise Refusal("document_too_large")
        try:
            return self._zip.read(entry)
        except (zipfile.BadZipFile, EOFError):
            raise Refusal("document_unreadable") from None


def _check(entry: zipfile.ZipInfo) -> None:
    if entry.flag_bits & 1:
        raise Refusal("document_encrypted")
    if entry.compress_type not in _METHODS:
        raise Refusal("document_unreadable")


def resolved(base: str, href: str) -> tuple[str, str]:
    """The entry and the fragment that `href` names within the entry `base`."""
    path, _, fragment = href.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(path))) if path else base
    return path, unquote(fragment)
