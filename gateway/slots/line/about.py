"""What operators are told of a request, beside its place in line; never its text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class About:
    """One request. Nothing depends on it."""

    voice: str = ""
    """Its name."""
    characters: int | None = None
    """Characters of its text; None where that comes bit by bit."""
    protocol: str = ""
    """By which it came: one of a fixed set."""
    client: str = ""
    """What its client runs, a name and a version."""

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)
