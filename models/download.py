"""Checkpoints from the Hugging Face hub, one commit of a repository, with the sums that the hub gives.

    fetch("openbmb/VoxCPM2")             # the newest commit the first time; the same one from then on
    fetch("openbmb/VoxCPM2@1f2e3d4c5b")  # a commit, branch or tag

A checkpoint that changed overnight would change every voice, and fail requests that go on elsewhere with
latents of the other one. So the commit of the first download is kept until another one is named. Every file
is compared with the sum that the hub announces for it, once; what was compared is loaded without asking the
hub again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.config_fields import ConfigError
from models.whole_files import write_atomically

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

logger = logging.getLogger(__name__)

PATTERNS = ["*.json", "*.jinja", "*.safetensors", "*.bin", "*.pth", "voices/*", "watch.npz"]
REPOSITORY = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
VERIFIED = ".voxfleet-verified"
_CHUNK_BYTES = 1 << 20


def find_directory(model: str) -> Path | None:
    """The directory that `model` names, if it is one; a ~ at its beginning stands for a home."""
    path = Path(os.path.expanduser(model))  # as it is where nobody has a home
    return path if path.is_dir() else None


def is_repository(model: str) -> bool:
    """Whether `model` has the form of a repository id, with or without a revision."""
    return not model.startswith((".", "/", "~")) and REPOSITORY.fullmatch(model) is not None


def fetch(model: str, cache: Path | None = None, endpoint: str | None = None) -> Path:
    """Directory of a repository `owner/name[@revision]`, downloaded and compared.

    `cache` and `endpoint` are those of huggingface_hub unless given. Raises ConfigError where a file is not
    what the hub announces, or cannot be had.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    match = REPOSITORY.fullmatch(model)
    if match is None:
        raise ConfigError(f"{model!r} is no repository id like openbmb/VoxCPM2 or openbmb/VoxCPM2@revision")
    name, revision = match["name"], match["revision"]
    cache = cache or Path(HF_HUB_CACHE)
    kept = _kept_snapshot(cache, name, revision)
    if kept is not None:
        return kept
    try:
        announced, directory = _download(name, revision, cache, endpoint)
    except Exception as error:  # of the hub, of what it is asked with, of the disk
        reason = " ".join(str(error).split())
        raise ConfigError(f"{model} cannot be downloaded: {reason}") from error
    for file in announced.siblings or []:
        _compare(directory / file.rfilename, file)
    try:
        (directory / VERIFIED).touch()
        if revision is None:
            write_atomically(_pin_file(cache, name), directory.name.encode())
    except OSError as error:  # a cache that others fill, and who loads may only read
        logger.warning("%s is compared again at the next start: %s", model, error)
    return directory


def _download(name: str, revision: str | None, cache: Path, endpoint: str | None) -> tuple[ModelInfo, Path]:
    """What the hub announces, and where it is now."""
    from huggingface_hub import HfApi, snapshot_download

    announced = HfApi(endpoint=endpoint).model_info(name, revision=revision, files_metadata=True)
    directory = snapshot_download(
        name, revision=announced.sha, cache_dir=cache, endpoint=endpoint, allow_patterns=PATTERNS
    )
    return announced, Path(directory)


def _repository_folder(cache: Path, name: str) -> Path:
    return cache / f"models--{name.replace('/', '--')}"


def _pin_file(cache: Path, name: str) -> Path:
    """Holds the commit that was downloaded first."""
    return _repository_folder(cache, name) / "voxfleet-commit"


def _kept_snapshot(cache: Path, name: str, revision: str | None) -> Path | None:
    """What is here already of the commit wanted, whole and compared."""
    pin = _pin_file(cache, name)
    commit = revision or (pin.read_text(encoding="ascii").strip() if pin.exists() else "")
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        return None
    directory = _repository_folder(cache, name) / "snapshots" / commit
    return directory if (directory / VERIFIED).exists() else None


def _compare(path: Path, announced: Any) -> None:
    """Raises ConfigError for a file with another sum than the hub's: sha256 of large files, else git's."""
    if not path.exists():  # not among the patterns
        return
    if announced.lfs is not None:
        digest, wanted = hashlib.sha256(), announced.lfs.sha256
    else:
        digest, wanted = hashlib.sha1(b"blob %d\0" % path.stat().st_size), announced.blob_id
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    if wanted is not None and digest.hexdigest() != wanted:
        raise ConfigError(
            f"{path.name} is not the file that the hub announces (its sum is {digest.hexdigest()}, not "
            f"{wanted}); remove {path.resolve()} and download it again"
        )
