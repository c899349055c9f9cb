"""How far a clip is, and which seed the next take of one of its parts has."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

_SEED_BITS = 63


@dataclass(frozen=True)
class Progress:
    """What was committed of a clip at one moment."""

    latents: tuple[bytes, ...]
    patches: int
    samples: int
    speech_samples: int
    heard_samples: float


def seed_of_take(seed: int, part: int, take: int) -> int:
    """Of a take of a part; the first one has the clip's own."""
    if take == 0:
        return seed
    digest = hashlib.blake2b(f"{seed}/{part}/{take}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - _SEED_BITS)
