"""Which blocks are given out first, and whose prefix is forgotten with them."""

from __future__ import annotations

from engine.kv_cache.block_manager import BlockManager
from tests.engine.kv_cache.sequences import BLOCK, P1, P2, A, B, C, cached, compute, seq


def test_block_reuse_forgets_its_old_prefix() -> None:
    """P1+B, then P2+B in the same blocks, then P1+B again: that B was computed under P2."""
    manager = BlockManager(3, BLOCK)
    for prompt in (P1 + B + [0], P2 + B + [0]):
        manager.free(compute(manager, seq(prompt)))
    last = seq(P1 + B + [0])
    assert manager.allocate(last)
    assert last.num_cached_tokens == 0
    manager.check_invariants([last])


def test_evicting_a_duplicate_keeps_the_other_copy_findable() -> None:
    manager = BlockManager(5, BLOCK)
    first, second = seq([*A, 1], "first"), seq([*A, 1], "second")
    assert manager.allocate(first) and manager.allocate(second)
    manager.commit(first, 5)
    manager.commit(second, 5)
    assert first.block_table[0] != second.block_table[0]
    manager.free(first)
    filler = seq(B + C + [7], "filler")
    assert manager.allocate(filler)
    manager.commit(filler, 9)
    manager.check_invariants([second, filler])
    manager.free(filler)
    assert cached(manager, [*A, 1]) == 4


def test_the_least_recently_freed_prefix_is_evicted_first() -> None:
    manager = BlockManager(4, BLOCK)
    for prompt in (A, B):
        manager.free(compute(manager, seq([*prompt, 0])))
    assert cached(manager, [*A, 0]) == 4
    assert manager.allocate(seq(P1 + P2 + [0]))
    assert cached_without_room(manager, [*A, 0]) == 4
    assert cached_without_room(manager, [*B, 0]) == 0


def cached_without_room(manager: BlockManager, tokens: list[int | bytes]) -> int:
    return len(manager._match(seq(tokens))) * BLOCK


def test_the_end_of_a_prefix_is_evicted_before_its_beginning() -> None:
    manager = BlockManager(3, BLOCK)
    manager.free(compute(manager, seq(A + B + C)))
    assert manager.allocate(seq([0]))
    assert cached_without_room(manager, A + B + C + [0]) == 8


def test_blocks_without_reusable_content_are_handed_out_first() -> None:
    manager = BlockManager(3, BLOCK)
    manager.free(compute(manager, seq(A + B + [0])))
    manager.free(compute(manager, seq([0])))
    assert manager.allocate(seq([1]))
    assert cached_without_room(manager, A + B + [0]) == 8


def test_reviving_a_free_cached_block_counts_as_taking_it() -> None:
    manager = BlockManager(3, BLOCK)
    manager.free(compute(manager, seq(A + B)))
    assert not manager.allocate(seq(A + B + C + [0]))
    assert not manager.allocate(seq(A + B + [0]), reserve=1)
    assert manager.allocate(seq(A + B + [0]))
