"""Sequences of a block manager under test."""

from __future__ import annotations

from engine.kv_cache.block_manager import BlockManager
from engine.sequence import Sequence

BLOCK = 4
A, B, C = [1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]
P1, P2 = [21, 22, 23, 24], [31, 32, 33, 34]
"""Tokens of blocks."""


def seq(tokens: list[int | bytes], name: str = "s", salt: bytes = b"") -> Sequence:
    return Sequence(name, tokens, max_new_tokens=100, salt=salt)


def compute(manager: BlockManager, sequence: Sequence) -> Sequence:
    """Allocates and computes all tokens."""
    assert manager.allocate(sequence)
    manager.commit(sequence, len(sequence))
    return sequence


def cached(manager: BlockManager, tokens: list[int | bytes], salt: bytes = b"") -> int:
    """How many positions a new sequence would find in the cache; leaves no trace in the tables."""
    sequence = seq(tokens, "probe", salt)
    assert manager.allocate(sequence)
    manager.free(sequence)
    return sequence.num_cached_tokens
