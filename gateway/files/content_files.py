"""Audio of voices, and adapters: a file per content, named by its hash, written whole or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import re
import secrets
import time
from pathlib import Path

from gateway.files.disk import Disk
from gateway.files.plain_files import read_file
from gateway.files.whole_files import UNFINISHED, write_atomically

_SHA256 = re.compile(r"[0-9a-f]{64}")


class ContentFiles:
    """Files `DIRECTORY/<hash><suffix>`. Methods that are no coroutines block."""

    def __init__(self, directory: Path, suffix: str, disk: Disk | None = None) -> None:
        """`disk`: has a floor of free space. None: there is none."""
        self._directory, self._suffix = directory, suffix
        self._disk = disk

    @property
    def size_bytes(self) -> int:
        """Bytes of all files, with those that were made of the audio."""
        sizes = []
        for path in self._directory.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                sizes.append(path.lstat().st_size if path.is_file() else 0)
        return sum(sizes)

    def path(self, sha256: str) -> Path:
        """Where the file with that content is, if there is one. Raises ValueError for what is no hash."""
        if not _SHA256.fullmatch(sha256):
            raise ValueError("not the hash of a file")
        return self._directory / f"{sha256}{self._suffix}"

    def read(self, sha256: str) -> bytes | None:
        """The content; None when it was deleted. Raises OSError where it cannot be read, or is another."""
        path = self.path(sha256)
        try:
            content = read_file(path)
        except FileNotFoundError:
            return None
        if hashlib.sha256(content).hexdigest() != sha256:
            raise OSError(errno.EIO, "a file is damaged", path.name)
        return content

    async def save(self, content: bytes, sha256: str) -> None:
        """Keep a file under the hash of its content; the same content is stored once, and a damaged file is
        replaced. Raises OSError.
        """
        await asyncio.to_thread(self._save, content, self.path(sha256))

    async def set_aside(self, sha256: str) -> Path:
        """Give the file another name, which is returned, also where there is none. Raises OSError."""
        aside = self._directory / f"{UNFINISHED}{secrets.token_hex(8)}"
        with contextlib.suppress(FileNotFoundError):
            await asyncio.to_thread(os.replace, self.path(sha256), aside)
        return aside

    async def put_back(self, aside: Path, sha256: str) -> None:
        """Give what was set aside its name again. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            await asyncio.to_thread(os.replace, aside, self.path(sha256))

    async def delete(self, aside: Path) -> None:
        """Remove what was set aside. Raises OSError."""
        await asyncio.to_thread(aside.unlink, missing_ok=True)

    def leftovers(self, min_age_seconds: float) -> list[str]:
        """Hashes of files of that age, used or not. Files that were never finished are removed. Blocks."""
        oldest = time.time() - min_age_seconds
        found = [path for path in self._directory.glob("*") if path.is_file()]
        old = [path for path in found if path.stat().st_mtime < oldest]
        for path in old:
            if path.name.startswith(UNFINISHED):
                path.unlink(missing_ok=True)
        return [path.stem for path in old if path.suffix == self._suffix and _SHA256.fullmatch(path.stem)]

    def _save(self, content: bytes, path: Path) -> None:
        with contextlib.suppress(OSError):  # it is not there, or is what nobody can read
            if read_file(path) == content:
                return
        self.write(path, content)

    def write(self, path: Path, content: bytes) -> None:
        """Write a file whole or not at all, as long as the disk has room. Raises OSError."""
        if self._disk is not None:
            self._disk.check()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
