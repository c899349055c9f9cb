"""Files that are written whole or not at all, also where the power fails.

with replacing(path) as partial:
    save_file(tensors, partial)    # `path` where the block ends; nothing of it stays where it fails
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

_OS_ERROR = re.compile(r"\(os error (\d+)\)")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The file to write instead of `path`. Raises OSError, also where a library has its own error for it."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        yield partial
        with partial.open("rb") as written:  # or the name may be on the disk, and what it names not
            os.fsync(written.fileno())
        partial.replace(path)
    except (RuntimeError, SafetensorError) as error:
        if number := _number_of(error):
            raise OSError(number, os.strerror(number), str(path)) from error
        raise
    finally:
        partial.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one step, so that a reader never sees half of it."""
    with replacing(path) as partial:
        partial.write_bytes(data)


def _number_of(error: Exception) -> int | None:
    """The errno behind a library's error: PyTorch has it as the context, safetensors in its words."""
    if isinstance(error.__context__, OSError):
        return error.__context__.errno
    found = _OS_ERROR.search(str(error))
    return int(found[1]) if found else None
