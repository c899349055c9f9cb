"""How far a clip is, and which seed the next take of one of its parts has."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

_SEED_BITS = 63


@dataclass(frozen=True)
class Silence:
    """Of the patches of a take."""

    patches: int = 0
    """Silent ones among all."""
    lately: int = 0
    """Silent ones at the end."""
    since: int = 0
    """Audible ones at the end."""

    def after(self, silent: bool) -> Silence:
        """With one more patch."""
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
    """Of a take of a part; the first one has the clip's own."""
    if take == 0:
        return seed
    digest = hashlib.blake2b(f"{seed}/{part}/{take}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - _SEED_BITS)
