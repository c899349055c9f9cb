"""What the controller in the cluster is told, and the folder of its machine in which that is kept.

Ray starts the controller again with the arguments of its first start, and shows them to operators. So its one
argument is this folder, which the owner alone can read: secrets are in no argument and in no variable.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from voxfleet.fleet.file import FleetFile
from voxfleet.fleet.file.share import Share, ShareSection
from voxfleet.processes.devices import RANKS_VARIABLE

_ASSIGNMENT, _SCALED = "assignment.json", "scaled.json"
_ADMIN_TOKEN, _WORKER_SECRET = "admin-token", "worker-secret"


@dataclass(frozen=True)
class WorkerSpec:
    """All that a worker is started with, but for secrets."""

    kind: str
    model: str
    device: str
    slots: int
    share: Share
    gateway_urls: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    """Further settings, by the names that they have in its environment."""
    version: str

    @property
    def digest(self) -> str:
        """Workers with another one are replaced."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]


class Assignment(BaseModel):
    """What `voxfleet fleet up` tells the controller."""

    model_config = ConfigDict(extra="forbid")

    file: FleetFile
    desk_urls: tuple[str, ...]
    """Where the controller finds the gateways."""
    gateway_urls: tuple[str, ...]
    """Where workers do, from other machines."""
    settings: dict[str, str]
    """Settings of workers, see `WorkerSpec`."""

    def specs(self) -> dict[str, WorkerSpec]:
        """The specification of each kind of workers."""
        return {kind: self._spec(kind) for kind in self.file.workers}

    def _spec(self, kind: str) -> WorkerSpec:
        section = self.file.workers[kind]
        share = self.file.ray.workers.get(kind, ShareSection()).settled(
            section.device, section.tensor_parallel_size
        )
        device = "cuda" if share.gpus else "cpu"
        ranks = (
            {RANKS_VARIABLE: str(section.tensor_parallel_size)} if section.tensor_parallel_size > 1 else {}
        )
        settings = tuple(sorted({**self.settings, **ranks}.items()))
        return WorkerSpec(
            kind, section.model, device, section.slots, share, self.gateway_urls, settings, section.version
        )


class Folder:
    """Where an assignment is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def keep(self, assignment: Assignment) -> None:
        """Replaces the one before. Raises OSError."""
        self._write(_ASSIGNMENT, assignment.model_dump_json(by_alias=True))

    def keep_secrets(self, admin_token: str, worker_secret: str) -> None:
        """Raises OSError."""
        self._write(_ADMIN_TOKEN, admin_token)
        self._write(_WORKER_SECRET, worker_secret)

    def keep_scaled(self, scaled: Mapping[str, int]) -> None:
        """How many workers of a kind an operator ordered. Raises OSError."""
        self._write(_SCALED, json.dumps(dict(scaled)))

    def assignment(self) -> Assignment:
        """Raises OSError, and ValueError when it is none."""
        return Assignment.model_validate_json((self.path / _ASSIGNMENT).read_bytes())

    def admin_token(self) -> str:
        """Raises OSError."""
        return (self.path / _ADMIN_TOKEN).read_text(encoding="utf-8")

    def worker_secret(self) -> str:
        """Raises OSError."""
        return (self.path / _WORKER_SECRET).read_text(encoding="utf-8")

    def scaled(self) -> dict[str, int]:
        """Raises OSError, and ValueError."""
        file = self.path / _SCALED
        return json.loads(file.read_bytes()) if file.exists() else {}

    def remove(self) -> None:
        """All of it."""
        for name in (_ASSIGNMENT, _SCALED, _ADMIN_TOKEN, _WORKER_SECRET):
            (self.path / name).unlink(missing_ok=True)

    def _write(self, name: str, text: str) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.path / f".{name}"
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(self.path / name)
