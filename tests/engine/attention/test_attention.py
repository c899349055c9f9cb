"""Paged attention backends against attention written out in fp64."""

from __future__ import annotations

import logging
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engine.attention import AttentionBackend, AttentionBatch, PagedAttention, select_backend
from engine.attention.sdpa import SDPABackend, slots_of
from engine.errors import EngineError
from engine.kv_cache.pool import KVPool, blocks_for_sequences, bytes_per_block


def naive_attention(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """q [n, Hq, D] stand at the end of keys, values [L, Hkv, D]; fp64, one query at a time."""
    group = q.shape[1] // keys.shape[1]
    out = torch.empty(q.shape, dtype=torch.float64)
    for i in range(q.shape[0]):
        visible = keys.shape[0] - q.shape[0] + i + 1
        for head in range(q.shape[1]):
            k, v = keys[:visible, head // group].double(), values[:visible, head // group].double()
            weights = torch.softmax(k @ q[i, head].double() / q.shape[2] ** 0.5, dim=0)
            out[i, head] = weights @ v
    return out


class Pages:
    """Contexts of several rows in one shuffled pool; slots without a position, such as block 0, hold NaN."""

    def __init__(
        self,
        rows: list[tuple[int, int]],
        block_size: int,
        heads: tuple[int, int],
        head_dim: int,
        seed: int = 0,
    ) -> None:
        rng = random.Random(seed)
        self.rows, self.heads, self.head_dim = rows, heads, head_dim
        self.generator = torch.Generator().manual_seed(seed)
        tables = [-(-(start + count) // block_size) for start, count in rows]
        free = rng.sample(range(1, sum(tables) + 3), sum(tables))
        self.batch = AttentionBatch(
            [start for start, _ in rows],
            [count for _, count in rows],
            [[free.pop() for _ in range(blocks)] for blocks in tables],
        )
        self.pool = KVPool(2, sum(tables) + 3, block_size, heads[1], head_dim)
        self.pool.tensor.fill_(float("nan"))

    def random(self, length: int, heads: int) -> Tensor:
        return torch.randn(length, heads, self.head_dim, generator=self.generator)

    def check(self, backend: AttentionBackend, layer: int = 1, tolerance: float = 2e-6) -> None:
        """Fills earlier positions, runs the step, compares output and cache contents."""
        block_size = self.pool.block_size
        contexts = [
            (self.random(s + n, self.heads[1]), self.random(s + n, self.heads[1])) for s, n in self.rows
        ]
        queries = [self.random(count, self.heads[0]) for _, count in self.rows]
        cache = self.pool.layer(layer)
        for (start, _), table, context in zip(self.rows, self.batch.block_tables, contexts, strict=True):
            for position in range(start):
                for side in (0, 1):
                    block, offset = table[position // block_size], position % block_size
                    cache[side, block, offset] = context[side][position]
        new = [
            torch.cat([c[side][s:] for c, (s, _) in zip(contexts, self.rows, strict=True)]) for side in (0, 1)
        ]
        attention = PagedAttention(backend, self.pool, backend.plan(self.batch))
        out = attention(layer, torch.cat(queries), new[0], new[1])
        expected = [naive_attention(q, k, v) for q, (k, v) in zip(queries, contexts, strict=True)]
        torch.testing.assert_close(out.double(), torch.cat(expected), atol=tolerance, rtol=tolerance)
        for (start, count), table, context in zip(self.rows, self.batch.block_tables, contexts, strict=True):
            for side in (0, 1):
                pages = cache[side][table].flatten(0, 1)
                assert torch.equal(pages[: start + count], context[side])
                assert pages[start + count :].isnan().all()
        assert self.pool.layer(1 - layer).isnan().all()


def sdpa(block_size: int) -> SDPABackend:
    return SDPABackend("cpu", torch.float32, block_size)


MIXES = {
    "one decode": [(5, 1)],
    "first position": [(0, 1)],
    "decodes of equal length": [(7, 1), (7, 1), (7, 1)],
    "decodes of unequal length": [(0, 1), (31, 1), (15, 1), (16, 1)],
    "whole prompt": [(0, 13)],
    "several whole prompts": [(0, 3), (0, 16), (0, 1)],
    "later chunk": [(9, 6)],
    "later chunk at a block border": [(16, 16)],
    "decodes, then chunks": [(20, 1), (3, 1), (0, 9), (4, 5), (12, 1)],
    "decode after a chunk": [(0, 4), (30, 1), (2, 2)],
    "row without positions": [(8, 1), (4, 0), (0, 3)],
}


@pytest.mark.parametrize("heads", [(4, 4), (8, 2), (4, 1)], ids=["MHA", "GQA", "MQA"])
@pytest.mark.parametrize("block_size", [1, 4, 16])
@pytest.mark.parametrize("mix", MIXES)
def test_attention_equals_the_reference(mix: str, block_size: int, heads: tuple[int, int]) -> None:
    Pages(MIXES[mix], block_size, heads, head_dim=8).check(sdpa(block_size))


rows = st.tuples(st.integers(0, 40), st.integers(0, 20)).filter(lambda row: row != (0, 0))


@given(
    rows=st.lists(rows, min_size=1, max_size=5),
    block_size=st.sampled_from([1, 3, 8]),
    groups=st.sampled_from([1, 2, 3]),
    seed=st.integers(0, 99),
)
def test_any_mixed_batch_equals_the_reference(
    rows: list[tuple[int, int]], block_size: int, groups: int, seed: int
) -> None:
    Pages(rows, block_size, (2 * groups, 2), head_dim=4, seed=seed).check(sdpa(block_size))


def test_a_prompt_in_chunks_equals_the_prompt_at_once() -> None:
    """A chunk sees the context up to its own end; that of the whole prompt would read unwritten slots."""
    torch.manual_seed(0)
    q, k, v = torch.randn(30, 4, 8), torch.randn(30, 2, 8), torch.randn(30, 2, 8)
    backend, table = sdpa(4), [6, 1, 7, 0, 3, 2, 5, 4]

    def run(cuts: list[int]) -> Tensor:
        pool = KVPool(1, 8, 4, 2, 8)
        pool.tensor.fill_(float("nan"))
        parts = []
        for start, end in zip([0, *cuts], [*cuts, 30], strict=True):
            blocks = table[: -(-end // 4)]
            plan = backend.plan(AttentionBatch([start], [end - start], [blocks]))
            parts.append(PagedAttention(backend, pool, plan)(0, q[start:end], k[start:end], v[start:end]))
        return torch.cat(parts)

    whole = naive_attention(q, k, v).float()
    for cuts in ([], [4, 8], [1, 2, 3], [7, 29], list(range(1, 30))):
        torch.testing.assert_close(run(cuts), whole, atol=2e-6, rtol=2e-6)


def test_an_empty_batch_computes_nothing() -> None:
    backend, pool = sdpa(4), KVPool(1, 2, 4, 2, 8)
    attention = PagedAttention(backend, pool, backend.plan(AttentionBatch([], [], [])))
    assert attention(0, torch.empty(0, 4, 8), torch.empty(0, 2, 8), torch.empty(0, 2, 8)).shape == (0, 4, 8)
    assert not pool.tensor.any()


def test_views_of_a_fused_projection_are_accepted() -> None:
    torch.manual_seed(0)
    fused = torch.randn(5, 8, 4)
    q, k, v = fused[:, :4], fused[:, 4:6], fused[:, 6:]
    backend, pool = sdpa(4), KVPool(1, 5, 4, 2, 4)
    for starts, counts in (([0], [5]), ([0, 0, 0, 0, 0], [1] * 5)):
        batch = AttentionBatch(starts, counts, [[3, 1], [0], [1], [2], [4]][: len(starts)])
        out = PagedAttention(backend, pool, backend.plan(batch))(0, q, k, v)
        expected = naive_attention(q, k, v) if len(starts) == 1 else v.repeat_interleave(2, 1).double()
        torch.testing.assert_close(out.double(), expected, atol=2e-6, rtol=2e-6)


def test_half_precision_is_as_good_as_its_format() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(9, heads, 16).bfloat16() for heads in (4, 2, 2))
    backend = SDPABackend("cpu", torch.bfloat16, 4)
    pool = KVPool(1, 3, 4, 2, 16, dtype=torch.bfloat16)
    for start, end in ((0, 6), (6, 8), (8, 9)):
        plan = backend.plan(AttentionBatch([start], [end - start], [[2, 0, 1]]))
        out = PagedAttention(backend, pool, plan)(0, q[start:end], k[start:end], v[start:end])
    torch.testing.assert_close(out.double(), naive_attention(q, k, v)[8:], atol=0.02, rtol=0.02)


def test_slots_follow_the_block_table() -> None:
    assert slots_of([9, 3, 5], 6, 10, 4).tolist() == [14, 15, 20, 21]
    assert slots_of([9], 0, 0, 4).tolist() == []
    assert slots_of([9], 0, 4, 4).tolist() == [36, 37, 38, 39]


def test_selection_says_what_it_chose_and_why_not(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "engine.attention.selection"):
        assert select_backend("auto", "cpu", torch.float32, 64, 16).name == "sdpa"
    assert "attention backend sdpa" in caplog.text
    with pytest.raises(EngineError, match="unknown attention backend 'flush'; there are: auto"):
        select_backend("flush", "cpu", torch.float32, 64, 16)
    with pytest.raises(EngineError, match=r"sdpa: torch.int8 is not a floating point type"):
        select_backend("auto", "cpu", torch.int8, 64, 16)


def test_a_backend_refuses_what_it_was_not_built_for() -> None:
    reason = sdpa(4).supports(torch.device("cpu"), torch.float32, 64, 8)
    assert reason is not None and "block size 4" in reason


def test_pool_sizes_add_up() -> None:
    pool = KVPool(3, 5, 4, 2, 8, dtype=torch.bfloat16)
    assert pool.tensor.nbytes == 5 * bytes_per_block(3, 4, 2, 8, torch.bfloat16)
    assert blocks_for_sequences(3, 17, 8) == 9
    assert (pool.num_layers, pool.num_blocks, pool.block_size) == (3, 5, 4)
    assert pool.layer(2).data_ptr() == pool.tensor[2].data_ptr()
    with pytest.raises(ValueError, match="at least 1"):
        KVPool(1, 0, 4, 2, 8)
