"""Room on the disk for deleting: SQLite writes before it deletes, so on a full disk nothing could be deleted.

A file beside the database takes it up, and goes while something is deleted and nothing else is left.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import structlog

logger = structlog.get_logger(__name__)

RESERVE_BYTES = 4 << 20
"""Deletes the rows of a long book, or many small ones."""


class Reserve:
    """That of one SQLite file; gateways that share the file share it. Methods block, if shortly."""

    def __init__(self, database: Path) -> None:
        self._folder = database.parent
        self._file = database.with_name(f"{database.name}-reserve")

    def give(self) -> None:
        """Before something is deleted: have room for it."""
        try:
            if self._file.exists() and self._free_bytes() < RESERVE_BYTES:
                self._file.unlink(missing_ok=True)
                logger.warning("the disk is full: its reserve is used to delete", file=str(self._file))
        except OSError as error:
            logger.warning("the reserve of the disk cannot be used", error=type(error).__name__)

    def keep(self) -> None:
        """Have it again where there is room for it."""
        try:
            if self._file.exists() or self._free_bytes() < RESERVE_BYTES:
                return
            self._file.touch(0o600)
            self._file.write_bytes(bytes(RESERVE_BYTES))
        except OSError as error:
            self._file.unlink(missing_ok=True)
            logger.warning("the disk has no reserve for deleting", error=type(error).__name__)

    def _free_bytes(self) -> int:
        return shutil.disk_usage(self._folder).free
