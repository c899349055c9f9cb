"""How far a clip is, and which seed the next take of one of its parts has."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

_SEED_BITS = 63


@dataclass(frozen=True)
class Silence:
    """How many patches of a take are silent."""

    patches: int = 0
    """How many patches are silent."""
    lately: int = 0
    """How many at the end are silent, in a row."""
    since: int = 0
    """How many at the end are audible, in a row."""

    def after(self, silent: bool) -> Silence:
        """The counts with one more patch."""
        if silent:
            return Silence(self.patches + 1, self.lately + 1, 0)
        return Silence(self.patches, 0, self.since + 1)


@dataclass(frozen=True)
class Place:
    """Where a clip stands: in which part of its text, and the counts of all that was committed."""

    part: int = 0
    patches: int = 0
    samples: int = 0
    speech_samples: int = 0
    heard_samples: float = 0.0


@dataclass(frozen=True)
class Progress:
    """A place and what was committed of its part."""

    place: Place
    latents: tuple[bytes, ...]
    silence: Silence


def seed_of_take(seed: int, part: int, take: int) -> int:
    """The seed of a take of a part; the first take has the clip's own."""
    if take == 0:
        return seed
    digest = hashlib.blake2b(f"{seed}/{part}/{take}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - _SEED_BITS)
