"""The lock of a folder: one process works in it, and the kernel takes the lock back when that ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gateway.files.plain_files import descriptor_of


class FolderLock:
    """A lock on a file. A child that inherits `descriptor` holds it, too, until it has ended itself."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.descriptor: int | None = None
        """While it is held."""

    def acquire(self) -> bool:
        """Become the one who works there. False when another is, or there is no folder. Raises OSError."""
        try:
            descriptor = descriptor_of(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self.descriptor = descriptor
        return True

    @property
    def is_in_place(self) -> bool:
        """Whether it is held and others find it: a folder that was removed and made anew has another."""
        if self.descriptor is None:
            return False
        try:
            return os.path.samestat(os.stat(self._file), os.fstat(self.descriptor))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def release(self) -> None:
        """Let others have it."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
