"""Machine code on disk, beside what Triton keeps (`TRITON_CACHE_DIR`), so that it is compiled once.

    image = kept("all that it depends on", lambda: compiled(source))

It is read only from a folder and a file of this user in which nobody else may write, and only whole.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from triton import knobs

logger = logging.getLogger(__name__)

_OTHERS_MAY_WRITE = 0o022


def kept(key: str, make: Callable[[], bytes]) -> bytes:
    """What `make` gives, or gave under this key. A disk that fails is only logged."""
    path = Path(knobs.cache.dir) / "voxfleet" / f"{sha256(key.encode()).hexdigest()}.cubin"
    image = None
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        if not _is_ours(path.parent.lstat()):
            raise PermissionError(f"others may write in {path.parent}")
        image = _read(path)
        if image is None:
            image = make()
            _write(path, _sum(path, image) + image)
    except OSError as error:
        logger.warning("later starts will compile a kernel again: %s", error)
    return make() if image is None else image


def _read(path: Path) -> bytes | None:
    """None where there is no such file, or one that is damaged or of somebody else."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with file:
        content = file.read() if _is_ours(os.fstat(file.fileno())) else b""
    size = sha256().digest_size
    return content[size:] if content[:size] == _sum(path, content[size:]) else None


def _write(path: Path, content: bytes) -> None:
    handle, partial = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def _sum(path: Path, image: bytes) -> bytes:
    """It belongs to the name, too."""
    return sha256(path.name.encode() + image).digest()


def _is_ours(about: os.stat_result) -> bool:
    return about.st_uid == os.geteuid() and not about.st_mode & _OTHERS_MAY_WRITE
