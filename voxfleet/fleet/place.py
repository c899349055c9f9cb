"""Where workers run: what the controller needs of this machine, of Ray, of Kubernetes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Member:
    """One worker that was started and is not gone yet."""

    id: str
    """By which it dials in at gateways."""
    kind: str
    draining: bool = False
    """It is to be stopped when it holds no stream any more."""
    ending: bool = False
    """It was told to stop."""
    former: bool = False
    """It runs what the fleet file said before."""
    placed: bool = True
    """It has a machine; otherwise it waits for room."""
    zone: str = ""

    @property
    def waits(self) -> bool:
        """It has no machine yet, and is to have one."""
        return not (self.placed or self.draining or self.ending)


class Place(Protocol):
    """Starts workers that dial in at the gateways, keeps them alive, and stops them. None of it waits."""

    name: str

    def start(self, kind: str) -> str:
        """Start one more worker of a kind; its id. Raises PlaceFull when there is no room for it now."""

    def drain(self, id: str) -> None:
        """Remember that it drains, for as long as it is a member."""

    def stop(self, id: str) -> None:
        """Stop one that has drained."""

    def members(self) -> Sequence[Member]:
        """Every worker, also those that load or were killed and are being started again."""

    def failed_starts(self, kind: str) -> int:
        """How many starts of the kind have failed in a row."""


class PlaceFull(RuntimeError):
    """The place has no room for a worker at the moment."""


class PlaceError(RuntimeError):
    """The place is not there, or does not do what it should; worded for the user."""


class Starts:
    """How many starts of each kind have failed in a row, over all workers of it."""

    def __init__(self) -> None:
        self.failed: Counter[str] = Counter()

    def succeeded(self, kind: str) -> None:
        """A worker of it serves."""
        self.failed[kind] = 0

    def one_failed(self, kind: str, trying: int) -> bool:
        """A start failed, of one of `trying` workers of the kind that do not serve. Whether that worker is
        to give up: of several, one goes on trying.
        """
        self.failed[kind] += 1
        return trying > 1
