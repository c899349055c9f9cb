"""Folders that a crash left without a row."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

ORPHAN_SECONDS = 3600.0
"""After that, a folder without a row is nobody's."""


def is_old(folder: Path) -> bool:
    """Whether it was written so long ago; one dated as far ahead is of a clock that was set back since.

    Raises OSError.
    """
    return abs(time.time() - folder.stat().st_mtime) > ORPHAN_SECONDS


def remove_orphans(
    folder: Path, known: Collection[str], is_id: Callable[[str], bool], remove: Callable[[str], None]
) -> None:
    """What a crash left in `folder` without a row. Blocks. Raises OSError."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name in known or not is_id(path.name):
            continue
        if is_old(path):
            remove(path.name)
