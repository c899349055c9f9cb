"""Where workers run: what the controller needs of this machine, of Ray, of Kubernetes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Member:
    """One worker that was started and is not gone yet."""

    id: str
    """By which it dials in at gateways."""
    kind: str
    ending: bool = False
    """It was told to stop."""
    zone: str = ""


class Place(Protocol):
    """Starts workers that dial in at the gateways, keeps them alive, and stops them. None of it waits."""

    name: str

    def start(self, kind: str) -> str:
        """Start one more worker of a kind; its id. Raises PlaceFull when there is no room for it now."""

    def stop(self, id: str) -> None:
        """Stop one that has drained."""

    def members(self) -> Sequence[Member]:
        """Every worker, also those that load or were killed and are being started again."""

    def failed_starts(self, kind: str) -> int:
        """How many starts of the kind have failed in a row."""


class PlaceFull(RuntimeError):
    """The place has no room for a worker at the moment."""
