"""BlockManager: who owns which block, and what may be shared. Numbers in names of prompts are tokens."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from engine.errors import EngineError
from engine.kv_cache import prefix as prefix_module
from engine.kv_cache.block_manager import BlockManager
from engine.kv_cache.prefix import digest_of
from engine.sequence import Sequence
from tests.engine.kv_cache.sequences import BLOCK, P1, P2, A, B, C, cached, compute, seq


def test_a_freed_prefix_is_found_again() -> None:
    manager = BlockManager(8, BLOCK)
    manager.free(compute(manager, seq(A + B + [9])))
    assert cached(manager, A + B + [9, 9]) == 8
    assert cached(manager, [*A, 9, *B]) == 4
    assert cached(manager, B + A + [9]) == 0


def test_running_sequences_share_blocks_and_the_last_one_frees_them() -> None:
    manager = BlockManager(8, BLOCK)
    first = compute(manager, seq(A + B + [9], "first"))
    second = compute(manager, seq(A + B + [9, 9], "second"))
    assert second.block_table[:2] == first.block_table[:2]
    assert second.block_table[2] != first.block_table[2]
    assert manager.num_free_blocks == 4
    manager.free(first)
    manager.check_invariants([second])
    assert manager.num_free_blocks == 5
    manager.free(second)
    assert manager.num_free_blocks == 8


def test_blocks_are_not_shared_before_they_are_computed() -> None:
    manager = BlockManager(8, BLOCK)
    aborted = seq(A + B + [9])
    assert manager.allocate(aborted)
    assert cached(manager, A + B + [9]) == 0
    manager.free(aborted)
    assert cached(manager, A + B + [9]) == 0


def test_a_chunk_shares_only_the_blocks_it_completed() -> None:
    manager = BlockManager(8, BLOCK)
    sequence = seq(A + B + C)
    assert manager.allocate(sequence)
    manager.commit(sequence, 7)
    assert cached(manager, A + B + C) == 4
    manager.commit(sequence, 12)
    assert cached(manager, A + B + C + [0]) == 12


@pytest.mark.parametrize("num_blocks", [1, 2, 3])
def test_a_fully_cached_prompt_of_whole_blocks_leaves_one_block_to_compute(num_blocks: int) -> None:
    manager = BlockManager(8, BLOCK)
    prompt = list(range(num_blocks * BLOCK))
    manager.free(compute(manager, seq(prompt)))
    again = seq(prompt)
    assert manager.allocate(again)
    assert again.num_cached_tokens == (num_blocks - 1) * BLOCK
    assert again.num_uncomputed_tokens == BLOCK


def test_one_token_more_than_whole_blocks_leaves_one_position() -> None:
    manager = BlockManager(8, BLOCK)
    manager.free(compute(manager, seq(A + B + [1])))
    again = seq(A + B + [1])
    assert manager.allocate(again)
    assert again.num_uncomputed_tokens == 1


def test_another_salt_shares_nothing() -> None:
    manager = BlockManager(8, BLOCK)
    manager.free(compute(manager, seq(A + B + [1], salt=b"adapter 1")))
    assert cached(manager, A + B + [1], salt=b"adapter 2") == 0
    assert cached(manager, A + B + [1]) == 0
    assert cached(manager, A + B + [1], salt=b"adapter 1") == 8


def test_the_hash_keeps_different_tokens_apart() -> None:
    streams: list[list[int | bytes]] = [
        [], [12], [1, 2], [-12], [2**64 + 12], [1, b"2"], [b""], [b"", b""],
        [b"12"], [b"1", b"2"], [b"1;i2"], [b"i12;"],
    ]  # fmt: skip
    assert len({digest_of(b"", stream) for stream in streams}) == len(streams)
    assert digest_of(b"a", [1]) != digest_of(b"b", [1])


def test_a_hash_collision_never_shares_another_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_module, "digest_of", lambda parent, tokens: b"the same for all")
    manager = BlockManager(16, BLOCK)
    held = [compute(manager, seq([*prompt, 0], str(i))) for i, prompt in enumerate((A + B, P1 + B, A + C))]
    manager.check_invariants(held)
    assert cached(manager, P1 + B + [0]) == 8
    assert cached(manager, P2 + B + [0]) == 0
    assert cached(manager, P1 + C + [0]) == 4
    assert cached(manager, A + C + [0]) == 8


def test_allocation_that_does_not_fit_changes_nothing() -> None:
    manager = BlockManager(4, BLOCK)
    held = compute(manager, seq([*A, 0], "held"))
    big = seq(A + B + C + [0], "big")
    assert not manager.allocate(big)
    assert big.block_table == [] and manager.num_free_blocks == 2
    manager.check_invariants([held, big])


def test_before_a_decode_the_table_covers_exactly_all_tokens() -> None:
    """The token that a step appends is computed by the next step; its block is needed then, not earlier."""
    manager = BlockManager(8, BLOCK)
    sequence = compute(manager, seq([1, 2]))
    for token in range(3, 15):
        sequence.token_ids.append(token)
        manager.append(sequence)
        assert len(sequence.block_table) == -(-len(sequence) // BLOCK)
        manager.check_invariants([sequence])
        manager.commit(sequence, len(sequence))
        manager.check_invariants([sequence])


def test_generated_tokens_are_shared_too() -> None:
    manager = BlockManager(8, BLOCK)
    sequence = compute(manager, seq([1, 2]))
    for token in (b"three", b"four", b"five"):
        sequence.token_ids.append(token)
        manager.append(sequence)
        manager.commit(sequence, len(sequence))
    assert cached(manager, [1, 2, b"three", b"four", 9]) == 4


def test_running_out_of_blocks_is_an_error_and_not_an_overlap() -> None:
    manager = BlockManager(1, BLOCK)
    sequence = compute(manager, seq(A))
    sequence.token_ids.append(5)
    assert not manager.can_append(sequence)
    with pytest.raises(EngineError, match="out of KV blocks"):
        manager.append(sequence)
    with pytest.raises(EngineError, match="already has blocks"):
        manager.allocate(sequence)


def test_without_prefix_caching_nothing_is_shared() -> None:
    manager = BlockManager(8, BLOCK, enable_prefix_caching=False)
    manager.free(compute(manager, seq(A + B + [0])))
    assert cached(manager, A + B + [0]) == 0


def test_a_preempted_sequence_keeps_its_tokens_when_pickled() -> None:
    manager = BlockManager(8, BLOCK)
    sequence = compute(manager, seq(A))
    sequence.token_ids += [b"latent", 7]
    manager.free(sequence)
    copy = pickle.loads(pickle.dumps(sequence))
    assert copy.token_ids == [*A, b"latent", 7]
    assert (copy.num_prompt_tokens, copy.num_computed_tokens, copy.block_table) == (4, 0, [])


@pytest.mark.parametrize(
    ("corrupt", "rule_broken"),
    [
        (lambda m, s: s.block_table.append(s.block_table[0]), "references"),
        (lambda m, s: m._blocks.free.update({s.block_table[0]: None}), "free and used"),
        (lambda m, s: m._blocks.cached.clear(), "not registered"),
        (lambda m, s: setattr(s, "num_computed_tokens", 3), "before it is full"),
        (lambda m, s: s.token_ids.__setitem__(0, 99), "something else"),
        (lambda m, s: s.block_table.pop(), "references"),
    ],
)
def test_check_invariants_sees_corruption(corrupt: Any, rule_broken: str) -> None:
    manager = BlockManager(8, BLOCK)
    sequence = compute(manager, seq([*A, 0]))
    manager.check_invariants([sequence])
    corrupt(manager, sequence)
    with pytest.raises(EngineError, match=rule_broken):
        manager.check_invariants([sequence])


def test_a_block_taken_ahead_counts_as_the_next_tokens_and_is_never_forced() -> None:
    manager = BlockManager(3, 4)
    first, second = Sequence("first", [1, 2, 3, 4], 5), Sequence("second", [1], 5)
    assert manager.allocate(first) and manager.allocate(second)
    manager.look_ahead(second)
    assert len(second.block_table) == 1
    manager.look_ahead(first)
    manager.look_ahead(first)
    assert len(first.block_table) == 2 and manager.num_free_blocks == 0
    manager.check_invariants([first, second])
    first.token_ids.append(5)
    manager.append(first)
    assert len(first.block_table) == 2
    second.token_ids += [2, 3, 4]
    manager.look_ahead(second)
    assert len(second.block_table) == 1
    manager.free(first)
    manager.check_invariants([second])
    assert manager.num_free_blocks == 2


def test_a_head_that_waits_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks for its blocks in every step until there are enough."""
    manager = BlockManager(9, BLOCK)
    running = compute(manager, seq(A + B, "running"))
    waiting = seq(A + B + P1 * 6)
    hashed: list[object] = []
    monkeypatch.setattr(
        prefix_module,
        "digest_of",
        lambda parent, tokens: hashed.append(tokens) or digest_of(parent, tokens),
    )
    assert not manager.allocate(waiting, reserve=3)
    before = len(hashed)
    assert before and not any(manager.allocate(waiting, reserve=3) for _ in range(10))
    assert len(hashed) == before
    assert manager.allocate(waiting) and waiting.num_cached_tokens == 8
    manager.check_invariants([running, waiting])


def test_who_comes_back_finds_the_part_of_a_block_that_is_its_own() -> None:
    """Behind equal tokens each has what was launched ahead for it alone."""
    manager = BlockManager(8, 4)
    pair = [Sequence(name, [1, 2, 3, 4, 5, 6], 5) for name in ("a", "b")]
    parts = []
    for sequence in pair:
        assert manager.allocate(sequence)
        manager.commit(sequence, 5)
        parts.append(sequence.block_table[1])
    for sequence in pair:
        manager.free(sequence, returns=True)
    for sequence, part in zip(reversed(pair), reversed(parts), strict=True):
        assert manager.allocate(sequence)
        assert sequence.num_cached_tokens == 5 and sequence.block_table[1] == part
    manager.check_invariants(pair)
