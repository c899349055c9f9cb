"""Secrets of the rendered folder: made where nobody has, kept where somebody has."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from voxfleet.fleet.file.kubernetes import KubernetesSection

_SECRETS = (
    "voxfleet_worker_secret",
    "voxfleet_admin_token",
    "voxfleet_metrics_token",
    "voxfleet_resume_secret",
)
_DATABASE_URL = "voxfleet_database_url"
_PASSWORD = "postgres_password"


def secret_names(section: KubernetesSection) -> list[str]:
    """The names of the secrets that a fleet needs."""
    database = {"sqlite": [], "url": [_DATABASE_URL], "postgres": [_DATABASE_URL, _PASSWORD]}
    return [*_SECRETS, *database[section.database]]


def write_secrets(folder: Path, section: KubernetesSection) -> list[Path]:
    """Make those that are not there. Those that only somebody else can know are returned."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    for name in _SECRETS:
        _keep(folder / name, secrets.token_urlsafe(32))
    if section.database == "postgres":
        password = _keep(folder / _PASSWORD, secrets.token_urlsafe(32))
        _keep(folder / _DATABASE_URL, f"postgresql://voxfleet:{password}@voxfleet-postgres/voxfleet")
    return [path for name in secret_names(section) if not (path := folder / name).exists()]


def _keep(path: Path, secret: str) -> str:
    """What the file holds; `secret`, for its owner's eyes only, when there is no file yet."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secret)
    return secret
