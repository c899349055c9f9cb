"""How a worker has served this gateway lately: percentiles over its last requests, totals of what went wrong.

Figures are of attempts: a clip that moved counts where each of its parts was made. Memory is bounded, and a
percentile is worked out when somebody looks.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection
from typing import Any

from worker.protocol import FLAWS

WINDOW_REQUESTS = 256
FAILURES = (
    "closed", "corrupt", "failed", "leaving", "model", "rejected", "sequence", "silence", "stale", "stalled",
    "unreachable",
)  # fmt: skip
"""Why attempts fail on a worker."""


class WorkerFigures:
    """Plain numbers of one worker."""

    __slots__ = (
        "_first_audio_seconds",
        "_real_time_factors",
        "failures",
        "flaws",
        "migrations",
        "requests_served",
    )

    def __init__(self) -> None:
        self._first_audio_seconds: deque[float] = deque(maxlen=WINDOW_REQUESTS)
        self._real_time_factors: deque[float] = deque(maxlen=WINDOW_REQUESTS)
        self.requests_served = 0
        """Attempts that came to their end."""
        self.failures = Counter(dict.fromkeys(FAILURES, 0))
        """Attempts that failed on it, by reason."""
        self.flaws = Counter({flaw: 0 for flaw in FLAWS if flaw})
        """Parts of texts that went wrong on it, by what it said was wrong."""
        self.migrations = 0
        """Clips that had to go on elsewhere."""

    def first_audio(self, seconds: float) -> None:
        """An attempt brought its first audio, `seconds` after it got its slot."""
        self._first_audio_seconds.append(seconds)

    def served(self, seconds: float, audio_seconds: float) -> None:
        """An attempt came to its end, and made `audio_seconds` of audio in `seconds`."""
        self.requests_served += 1
        if audio_seconds > 0:
            self._real_time_factors.append(seconds / audio_seconds)

    def describe(self) -> dict[str, Any]:
        """As the admin API shows them; a percentile of nothing is null."""
        return {
            "first_audio_p50_seconds": percentile(self._first_audio_seconds, 0.50),
            "first_audio_p95_seconds": percentile(self._first_audio_seconds, 0.95),
            "rtf_p50": percentile(self._real_time_factors, 0.50),
            "requests_served": self.requests_served,
            "errors": self.failures.total(),
            "flaws": self.flaws.total(),
            "migrations": self.migrations,
        }


def percentile(values: Collection[float], share: float) -> float | None:
    """The smallest value that `share` of them do not exceed; None without values."""
    if not values:
        return None
    rank = max(math.ceil(share * len(values)), 1)
    return round(sorted(values)[rank - 1], 4)
