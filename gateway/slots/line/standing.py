"""What decides a request's place in line: its class, whose it is, and how much audio it will probably take.

Classes are strict: while a request of a higher class waits that a free worker can serve, none of a lower
class starts. The one exception is ageing, see `gateway/slots/line/queue.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Priority(StrEnum):
    """Class of a request, the most urgent first."""

    INTERACTIVE = "interactive"
    DEFAULT = "default"
    BULK = "bulk"

    def exceeds(self, other: Priority) -> bool:
        """Whether it is more urgent than `other`."""
        return _ORDER[self] < _ORDER[other]


_LEAST_CHARGE_SECONDS = 0.5
_ORDER = {priority: place for place, priority in enumerate(Priority)}


@dataclass(frozen=True)
class Standing:
    """The place in line that a request may claim."""

    tenant: str = ""
    """Who takes turns with other tenants of the class: an API key's name or a client's address."""
    priority: Priority = Priority.DEFAULT
    audio_seconds: float = 1.0
    """What the tenant is charged when the request starts; corrected by what was delivered when it ends."""
    weight: float = 1.0
    """The tenant's share against other tenants."""
    max_streams: int = 0
    """Requests that the tenant may have at once, waiting ones included; 0: any number."""
    client: str = ""
    """What the tenant runs, for operators to read."""
    accompanies: bool = False
    """It is a part of a request that counts: `max_streams` leaves it out of account."""

    def for_the_rest(self, heard_seconds: float) -> Standing:
        """The standing of a clip of which `heard_seconds` were heard before."""
        left_seconds = self.audio_seconds - heard_seconds
        return replace(self, audio_seconds=max(left_seconds, _LEAST_CHARGE_SECONDS))


NOBODY = Standing()
