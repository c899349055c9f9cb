"""What a block of the KV cache holds: everything from the salt of a sequence to the block's last token.

A hash is only the way to find a candidate. What decides is equality of the tokens along the whole chain, so a
collision costs a comparison and never returns another prompt's keys and values.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import xxhash


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """All tokens up to the end of one block, as a chain; the root stands for the salt.

    Only the last block of a sequence that gave up its blocks may hold fewer tokens than fit into it.
    """

    parent: Prefix | None
    tokens: tuple[int | bytes, ...]
    digest: bytes

    @classmethod
    def root(cls, salt: bytes) -> Prefix:
        """The empty prefix of all sequences with this salt."""
        return cls.extend(None, (salt,))

    @classmethod
    def extend(cls, parent: Prefix | None, tokens: Iterable[int | bytes]) -> Prefix:
        """The prefix that continues `parent` with one block of `tokens`."""
        tokens = tuple(tokens)
        return cls(parent, tokens, digest_of(b"" if parent is None else parent.digest, tokens))

    def same_as(self, other: Prefix) -> bool:
        """Whether both stand for the same salt and tokens, compared from the end up to a shared ancestor."""
        mine: Prefix | None = self
        theirs: Prefix | None = other
        while mine is not theirs:
            if mine is None or theirs is None or mine.tokens != theirs.tokens:
                return False
            mine, theirs = mine.parent, theirs.parent
        return True


def digest_of(parent: bytes, tokens: tuple[int | bytes, ...]) -> bytes:
    """128-bit hash of one block after `parent`; the encoding keeps 12, [1, 2] and b"12" apart."""
    try:
        encoded = b"q" + array("q", tokens).tobytes()
    except (TypeError, OverflowError):  # there are bytes among them
        parts = [b"b%d:%b" % (len(t), t) if isinstance(t, bytes) else b"i%d;" % t for t in tokens]
        encoded = b"".join(parts)
    return xxhash.xxh3_128_digest(parent + encoded)
