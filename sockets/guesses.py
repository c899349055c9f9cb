"""Secrets: which are too easy to guess, and how often one address may guess.

A wrong secret costs its address one of ten tries, of which one comes back every six seconds. With none left
nothing new that it shows is compared any more. What was right when it came from there before goes on to be:
who shares an address with a guesser keeps what works. The same wrong secret again is no new guess.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

TRIES = 10
SECONDS_PER_TRY = 6.0
_MOST_REMEMBERED = 10_000
_SHORTEST = 16
_FEWEST_DIFFERENT = 6
_ADVICE = "openssl rand -hex 32 makes a good one"


def check_secret(secret: str) -> str:
    """The secret. Raises ValueError, which does not quote it, for one that could be guessed."""
    if len(secret) < _SHORTEST:
        raise ValueError(f"a secret has at least {_SHORTEST} characters; {_ADVICE}")
    if len(set(secret)) < _FEWEST_DIFFERENT:
        raise ValueError(f"a secret has at least {_FEWEST_DIFFERENT} different characters; {_ADVICE}")
    return secret


class Guesses:
    """Counts the wrong secrets of each address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._blamed: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Tries left, and when."""
        self._seen: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        """Secrets that were compared, right and wrong ones, by their digests."""

    def wait_seconds(self, address: str, digest: bytes) -> float:
        """How long the address has to wait before the secret with that digest is compared; 0: compare it."""
        tries = self._tries(address)
        if tries >= 1 or (address, digest) in self._seen:
            return 0.0
        return (1 - tries) * SECONDS_PER_TRY

    def compared(self, address: str, digest: bytes, right: bool) -> bool:
        """It was right or wrong. Whether that was a new guess, to be logged."""
        new = not right and (address, digest) not in self._seen
        self._seen[address, digest] = None
        _trim(self._seen, (address, digest))
        if new:
            self._blamed[address] = (max(0.0, self._tries(address) - 1), self._clock())
            _trim(self._blamed, address)
        return new

    def _tries(self, address: str) -> float:
        left, at = self._blamed.get(address, (float(TRIES), 0.0))
        return min(float(TRIES), left + (self._clock() - at) / SECONDS_PER_TRY)


def _trim(remembered: OrderedDict, newest: object) -> None:
    remembered.move_to_end(newest)
    if len(remembered) > _MOST_REMEMBERED:
        remembered.popitem(last=False)
