"""Attention of prompts whose keys and values stand one after the other, in Triton's interpreter."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.attention.triton_backend.prompts import Launch, attend, tiling

HEADS, KV_HEADS, HEAD_DIM, TILE = 4, 2, 64, 32
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ROWS = {
    "prompts": [(0, 13), (0, 70), (0, 32)],
    "later chunks": [(64, 64), (3, 130), (31, 1)],
    "a row without positions": [(0, 5), (8, 0), (2, 40)],
}


def beginnings(sizes: list[int]) -> Tensor:
    return torch.tensor([0, *itertools.accumulate(sizes)], dtype=torch.int32, device=DEVICE)


def expected(q: Tensor, k: Tensor, v: Tensor, start: int) -> Tensor:
    mask = torch.arange(len(k), device=DEVICE) <= torch.arange(start, len(k), device=DEVICE)[:, None]
    q, k, v = (side.transpose(0, 1) for side in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True).transpose(0, 1)


@pytest.mark.parametrize("descriptors", [True, False], ids=["descriptors", "pointers"])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_each_query_sees_its_own_row_up_to_itself(rows: list[tuple[int, int]], descriptors: bool) -> None:
    torch.manual_seed(0)
    starts, counts = [start for start, _ in rows], [count for _, count in rows]
    contexts = [start + count for start, count in rows]
    q = torch.randn(sum(counts), HEADS, HEAD_DIM, device=DEVICE)
    behind = 40  # of which nobody may see anything
    sides = torch.randn(2, sum(contexts) + behind, KV_HEADS, HEAD_DIM, device=DEVICE)
    sides[:, -behind:] = float("nan")
    k, v = sides
    launch = Launch(TILE, TILE, 4, 2, descriptors)
    tiles = torch.from_numpy(tiling(starts, counts, TILE)).to(DEVICE)
    out = attend(q, k, v, tiles, beginnings(counts), beginnings(contexts), launch)
    parts = zip(
        q.split(counts), k[:-behind].split(contexts), v[:-behind].split(contexts), starts, strict=True
    )
    torch.testing.assert_close(out, torch.cat([expected(*part) for part in parts]))


def test_the_longest_contexts_come_first() -> None:
    tiles = tiling([0, 100], [70, 40], TILE)
    assert tiles.tolist() == [[1, 32], [1, 0], [0, 64], [0, 32], [0, 0]]
