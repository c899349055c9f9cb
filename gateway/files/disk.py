"""A floor of free disk: recordings and voices are not to take the space that the database and others need.

disk = Disk(settings.data_dir, min_free_bytes=10**9)
disk.check()    # OSError: ENOSPC, as the kernel would say it a gigabyte later
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from gateway.errors import ApiError, disk_full

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the kernel says where there is no room."""
_MIN_FREE_FILES = 1000
"""Where the file system has a fixed number of them."""


def not_stored(error: OSError, what: str | None = None) -> ApiError:
    """What a client hears of what could not be written; `what` it was."""
    if error.errno in FULL:
        return disk_full()
    message = "the disk of the service fails"
    return ApiError(507, "storage_failed", f"{what} cannot be stored: {message}" if what else message)


class Disk:
    """The file system of a folder, which need not exist yet. Methods block, if shortly."""

    def __init__(self, folder: Path, min_free_bytes: int) -> None:
        """`min_free_bytes`: 0: no floor."""
        self._folder = folder.absolute()
        self._min_free_bytes = min_free_bytes
        self.is_full = False
        """What `check` found out last."""

    @property
    def reserved_bytes(self) -> int:
        """How many bytes `check` leaves free."""
        return self._min_free_bytes

    @property
    def free_bytes(self) -> int:
        """What a process without privileges may still write. Raises OSError."""
        return _free(self._status())

    def check(self) -> None:
        """Raises OSError, ENOSPC, when less than the floor is free."""
        if not self._min_free_bytes:
            return
        status = self._status()
        few_files = status.f_files > 0 and status.f_favail < _MIN_FREE_FILES
        self.is_full = few_files or _free(status) < self._min_free_bytes
        if self.is_full:
            raise OSError(errno.ENOSPC, "less than min_free_disk_gb is free", str(self._folder))

    def look(self) -> bool:
        """Whether there is room, as `check` has it. Raises OSError when there is no answer."""
        try:
            self.check()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        return not self.is_full

    def _status(self) -> os.statvfs_result:
        folder = self._folder
        while True:
            try:
                return os.statvfs(folder)
            except FileNotFoundError:
                if folder == folder.parent:
                    raise
                folder = folder.parent


def _free(status: os.statvfs_result) -> int:
    return status.f_bavail * status.f_frsize
