"""Secrets that a gateway makes at its first start and keeps in `data_dir`, for its owner's eyes only."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

import structlog

from gateway.files.plain_files import descriptor_of
from sockets.guesses import check_secret

logger = structlog.get_logger(__name__)

ADMIN_TOKEN = "admin-token"
"""File of the token that opens the admin API where no other is set."""
RESUME_SECRET = "resume-secret"
"""File of what resume tokens are sealed with where no other is set."""


def kept_secret(folder: Path, name: str) -> str:
    """The secret in the file `name` of `folder`, made if there is none yet.

    Where that is impossible it is one of this process's own, which nobody learns, and the log says so.
    """
    path = folder / name
    try:
        return read_secret(path) or _make(path)
    except (OSError, ValueError) as error:
        logger.warning(
            "a secret cannot be kept, and ends with this process", file=str(path), reason=str(error)
        )
        return secrets.token_urlsafe(32)


def read_secret(path: Path) -> str | None:
    """What is kept in the file; None when there is none. Raises OSError, and ValueError for no secret.

    A file that others may read is closed to them.
    """
    try:
        descriptor = descriptor_of(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, encoding="ascii") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_IMODE(mode) & 0o077:
            logger.warning("others could read a secret; its file is closed to them now", file=str(path))
            os.fchmod(descriptor, 0o600)
        return check_secret(file.read().strip())


def _make(path: Path) -> str:
    """A new secret; when another process makes one at the same time, the one that was first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(descriptor)  # or the name may be on the disk, and what it names not
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    made = read_secret(path)
    if made is None:
        raise FileNotFoundError(f"{path} was removed at once")
    return made
