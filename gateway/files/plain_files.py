"""Where files of the data folder are opened: regular ones alone.

Who opens a pipe waits for another one who does, and holds a thread meanwhile; a link leads elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO, Any


def is_plain(path: str | Path) -> bool:
    """Whether there is a regular file. Blocks. Raises OSError."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def descriptor_of(path: str | Path, flags: int, mode: int = 0o666) -> int:
    """An open file, of which whoever asked is the owner; `mode` is that of a new one.

    Raises OSError, also for a pipe, a socket, a device, a folder and a link.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "this is no regular file", str(path))
    return descriptor


def open_file(path: Path, mode: str = "rb") -> IO[Any]:
    """As `open` has it, texts in UTF-8. Raises OSError as `descriptor_of` does."""
    return open(path, mode, encoding=None if "b" in mode else "utf-8", opener=descriptor_of)


def read_file(path: Path) -> bytes:
    """The whole content. Raises OSError as `descriptor_of` does."""
    with open_file(path) as file:
        return file.read()
