"""Attention to what lies on the host is attention: against one softmax over the whole context."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from engine.attention.backend import AttentionBatch
from engine.attention.streamed import StreamedCache
from engine.errors import EngineError
from engine.kv_cache import host_slots
from engine.kv_cache.host_slots import HostSlots, spans_of

LAYERS, BLOCK, KV_HEADS, HEADS, DIM = 3, 4, 2, 6, 16


def make_cache(ring_blocks: int, num_blocks: int = 40) -> StreamedCache:
    device = torch.device("cpu")
    return StreamedCache(LAYERS, num_blocks, BLOCK, KV_HEADS, DIM, torch.float32, device, ring_blocks)


def whole(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The last queries q [N, Hq, D] of a context k, v [L, Hkv, D], by the formula, in fp64."""
    k, v = (part.double().repeat_interleave(HEADS // KV_HEADS, 1) for part in (k, v))
    scores = torch.einsum("nhd,lhd->hnl", q.double(), k) / DIM**0.5
    seen = torch.ones(scores.shape[1:], dtype=torch.bool).tril(len(k) - len(q))
    scores = scores.masked_fill(~seen, float("-inf"))
    return torch.einsum("hnl,lhd->nhd", scores.softmax(-1), v).float()


@pytest.mark.parametrize("ring_blocks", [2, 3, 4, 5, 9, 100])
def test_any_chunks_of_any_rows_give_what_one_softmax_gives(ring_blocks: int) -> None:
    """Three sequences in shuffled blocks, in steps whose chunks end before, at and behind every boundary."""
    torch.manual_seed(ring_blocks)
    lengths, cache = [41, 17, 6], make_cache(ring_blocks)
    blocks = torch.randperm(40).tolist()
    tables = [blocks[:11], blocks[11:16], blocks[16:18]]
    keys, values = (
        [[torch.randn(length, KV_HEADS, DIM) for length in lengths] for _ in range(LAYERS)] for _ in range(2)
    )
    done, step = [0, 0, 0], 0
    while done != lengths:
        counts = [min(1 + (step * (3 + row)) % 9, lengths[row] - done[row]) for row in range(3)]
        rows = [row for row in range(3) if counts[row]]
        batch = AttentionBatch([done[r] for r in rows], [counts[r] for r in rows], [tables[r] for r in rows])
        attention = cache.step(batch)
        for layer in range(LAYERS):
            spans = [slice(done[row], done[row] + counts[row]) for row in rows]
            q = [torch.randn(counts[row], HEADS, DIM) for row in rows]
            new = [
                torch.cat([past[layer][row][span] for row, span in zip(rows, spans, strict=True)])
                for past in (keys, values)
            ]
            found = attention(layer, torch.cat(q), *new).split([counts[row] for row in rows])
            for row, span, queries, out in zip(rows, spans, q, found, strict=True):
                context = keys[layer][row][: span.stop], values[layer][row][: span.stop]
                torch.testing.assert_close(out, whole(queries, *context), rtol=1e-5, atol=1e-6)
        done = [begin + count for begin, count in zip(done, counts, strict=True)]
        step += 1


def test_what_nobody_wrote_is_not_seen() -> None:
    cache = make_cache(3)
    for layer in range(LAYERS):
        for values in (False, True):
            for _, run in cache.runs(layer, values, spans_of(range(40))):
                run.fill_(float("nan"))
    for half in cache.halves:
        half.tensor.fill_(float("nan"))
    k, v = torch.randn(2, 7, KV_HEADS, DIM)
    for start, end in ((0, 6), (6, 7)):
        attention = cache.step(AttentionBatch([start], [end - start], [[3, 9]]))
        for layer in range(LAYERS):
            q = torch.randn(end - start, HEADS, DIM)
            out = attention(layer, q, k[start:end], v[start:end])
            torch.testing.assert_close(out, whole(q, k[:end], v[:end]), rtol=1e-5, atol=1e-6)


def test_blocks_that_follow_each_other_are_one_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_slots, "SEGMENT_BYTES", 10 * 8)
    slots = HostSlots(30, (2,), torch.float32, pinned=False)
    asked = [3, 4, 5, 9, 8, 18, 19, 20, 21, 0]
    found = [(place, len(run)) for place, run in slots.runs(spans_of(asked))]
    assert found == [(0, 3), (3, 1), (4, 1), (5, 2), (7, 2), (9, 1)]
    for place, run in slots.runs(spans_of(asked)):
        for number, row in enumerate(run):
            assert row.data_ptr() == slots[asked[place + number]].data_ptr()
    assert list(slots.runs(spans_of([]))) == []


def test_a_ring_of_one_block_is_refused() -> None:
    with pytest.raises(EngineError, match="gpu_kv_blocks must be at least 2, got 1"):
        make_cache(1)
