"""Files that are written whole or not at all, by any number of writers at a time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

UNFINISHED = ".new-"
"""How the names of files begin that are being written, or never were to their end."""


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file so that whoever opens it sees all of it, also after a crash. Raises OSError.

    `durable`: also after a power failure, at the price of waiting for the disk.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
