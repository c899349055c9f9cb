"""What a gateway measured in some seconds, as sums: those of two gateways, or of two spans, are added.

What every gateway sees alike (workers, their slots, the speech they make) is averaged over gateways; what is
each one's own (slots it uses, requests that wait) is added up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

_GROWTH = 1.05
"""Ratio of two neighbouring classes of first audio: a percentile is right to 2.5 %."""
_SHORTEST_SECONDS = 0.001
_CLASSES = 300


@dataclass
class Figures:
    """Sums over `seconds`."""

    seconds: float = 0.0
    worker_seconds: float = 0.0
    """Workers that serve, each for so long."""
    slot_seconds: float = 0.0
    speech_seconds: float = 0.0
    """Seconds of audio that the workers made."""
    used_seconds: float = 0.0
    """Slots that this gateway's requests held."""
    waiting_seconds: float = 0.0
    requests: int = 0
    """Requests that ended."""
    refused: int = 0
    """How many of these were refused for want of slots."""
    errors: int = 0
    """Attempts that failed on a worker."""
    first_audio: Counter[int] = field(default_factory=Counter)
    """Clips by class of their first audio."""

    def add(self, other: Figures) -> None:
        """Count what `other` has, too."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first_audio.update(other.first_audio)

    def heard_after(self, seconds: float) -> None:
        """The first audio of a clip."""
        self.first_audio[_class_of(seconds)] += 1

    def as_fields(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self) | {"first_audio": {str(key): count for key, count in self.first_audio.items()}}

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any]) -> Self:
        """What `as_fields` gave; what it lacks is zero, what this version does not know is passed over."""
        sums = {name: stored[name] for name in _SUMS if name in stored}
        counts = Counter({int(key): count for key, count in stored.get("first_audio", {}).items()})
        return cls(**sums, first_audio=counts)

    def describe(self, longest_seconds: float) -> dict[str, float | None]:
        """Means and rates as the admin page draws them, of a span that took `longest_seconds` so far."""
        own_seconds = min(self.seconds, longest_seconds)
        per_minute = 60 / own_seconds
        return {
            "workers": round(self.worker_seconds / self.seconds, 3),
            "slots": round(self.slot_seconds / self.seconds, 3),
            "speech": round(self.speech_seconds / self.seconds, 3),
            "used": round(self.used_seconds / own_seconds, 3),
            "waiting": round(self.waiting_seconds / own_seconds, 3),
            "requests_per_minute": round(self.requests * per_minute, 3),
            "refused_per_minute": round(self.refused * per_minute, 3),
            "errors_per_minute": round(self.errors * per_minute, 3),
            "first_audio_p50_seconds": _percentile(self.first_audio, 0.50),
            "first_audio_p95_seconds": _percentile(self.first_audio, 0.95),
        }


_SUMS = tuple(entry.name for entry in fields(Figures) if entry.name != "first_audio")


def total(parts: Iterable[Figures]) -> Figures:
    """All of them together."""
    whole = Figures()
    for part in parts:
        whole.add(part)
    return whole


def _class_of(seconds: float) -> int:
    steps = math.log(max(seconds, _SHORTEST_SECONDS) / _SHORTEST_SECONDS, _GROWTH)
    return min(round(steps), _CLASSES)


def _percentile(classes: Counter[int], share: float) -> float | None:
    """The middle of the class that `share` of the clips do not exceed; None without clips."""
    left = max(math.ceil(share * classes.total()), 1)
    for key in sorted(classes):
        left -= classes[key]
        if left <= 0:
            return round(_SHORTEST_SECONDS * _GROWTH**key, 4)
    return None
