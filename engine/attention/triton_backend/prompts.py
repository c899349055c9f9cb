"""Attention of chunks of prompts whose keys and values stand one after the other, as a product left them.

A program has a tile of queries of one head. It goes through the keys that all of them see without a mask, and
then through those on the diagonal; the tiles with the longest contexts begin first. Many positions keep the
matrix units busy only with large tiles, of which loads are under way long before they are multiplied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from engine.kernels.launch import kernel_on

LOG2_E = math.log2(math.e)
HEAD_DIMS = (64, 128)


@dataclass(frozen=True)
class Launch:
    """Queries and keys of a tile, warps, loads under way, and whether tiles are fetched by descriptors."""

    queries: int = 128
    keys: int = 128
    warps: int = 8
    stages: int = 3
    descriptors: bool = True


LAUNCH = Launch()


@triton.jit
def _accumulate(queries, keys, values, hidden, scale, maximum, total, output):
    """One step of the online softmax; hidden: which keys are not seen, None where all are."""
    scores = tl.dot(queries, tl.trans(keys))
    if hidden is not None:
        scores = tl.where(hidden, float("-inf"), scores)
    raised = tl.maximum(maximum, tl.max(scores, 1) * scale)
    weights = tl.exp2(scores * scale - raised[:, None])
    decay = tl.exp2(maximum - raised)
    total = total * decay + tl.sum(weights, 1)
    output = tl.dot(weights.to(values.dtype), values, output * decay[:, None])
    return raised, total, output


@triton.jit
def _tile(
    source, first, size, head, token_stride,
    HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr, MASKED: tl.constexpr, DESCRIPTORS: tl.constexpr,
):  # fmt: skip
    """[BLOCK, HEAD_DIM] of one head from row `first` on, of which `size` are there."""
    if DESCRIPTORS:
        tile = source.load([first, head * HEAD_DIM])
    else:
        row = tl.arange(0, BLOCK)
        place = (first + row).to(tl.int64)[:, None] * token_stride + head * HEAD_DIM
        place += tl.arange(0, HEAD_DIM)[None, :]
        if MASKED:
            tile = tl.load(source + place, mask=(row < size)[:, None], other=0.0)
        else:
            tile = tl.load(source + place)
    return tile


@triton.jit
def prompts_kernel(
    q, k, v, out, tiles, cu_queries, cu_contexts, scale, q_token, k_token, v_token,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
):  # fmt: skip
    """Program (head, i) attends the BLOCK_M queries of tile i, which are of one row.

    q, out [T, heads, D]; k, v [sum of contexts, kv heads, D], with DESCRIPTORS as such; tiles: see `tiling`.
    The last query of a row sees the whole context.
    """
    head, tile = tl.program_id(0), tiles + 2 * tl.program_id(1)
    row, first_query = tl.load(tile), tl.load(tile + 1)
    begin, beginning = tl.load(cu_queries + row), tl.load(cu_contexts + row)
    count = tl.load(cu_queries + row + 1) - begin
    context = tl.load(cu_contexts + row + 1) - beginning
    member, d = tl.arange(0, BLOCK_M), tl.arange(0, HEAD_DIM)
    token = (begin + first_query + member).to(tl.int64)
    in_tile = (first_query + member < count)[:, None]
    place = token[:, None] * q_token + head * HEAD_DIM + d[None, :]
    queries = tl.load(q + place, mask=in_tile, other=0.0)
    maximum = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    output = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    kv_head = head // GROUP
    first_limit = context - count + first_query  # the last position that the first query sees
    seen = (first_limit + 1) // BLOCK_N * BLOCK_N
    for first in range(0, seen, BLOCK_N):
        at = beginning + first
        keys = _tile(k, at, BLOCK_N, kv_head, k_token, HEAD_DIM, BLOCK_N, False, DESCRIPTORS)
        values = _tile(v, at, BLOCK_N, kv_head, v_token, HEAD_DIM, BLOCK_N, False, DESCRIPTORS)
        maximum, total, output = _accumulate(queries, keys, values, None, scale, maximum, total, output)
    end = tl.minimum(context, first_limit + BLOCK_M)
    position = tl.arange(0, BLOCK_N)
    for first in range(seen, end, BLOCK_N):
        at, size = beginning + first, context - first
        keys = _tile(k, at, size, kv_head, k_token, HEAD_DIM, BLOCK_N, True, DESCRIPTORS)
        values = _tile(v, at, size, kv_head, v_token, HEAD_DIM, BLOCK_N, True, DESCRIPTORS)
        if DESCRIPTORS:  # what stands behind the context may be of another row, and anything
            values = tl.where((position < size)[:, None], values, 0.0)
        hidden = first + position[None, :] > first_limit + member[:, None]
        hidden = hidden | (first + position >= context)[None, :]
        maximum, total, output = _accumulate(queries, keys, values, hidden, scale, maximum, total, output)
    output = output / total[:, None]
    place = (token[:, None] * (tl.num_programs(0) * HEAD_DIM)) + head * HEAD_DIM + d[None, :]
    tl.store(out + place, output.to(out.dtype.element_ty), mask=in_tile)


def tiling(starts: list[int], counts: list[int], queries: int) -> np.ndarray:
    """int32 [tiles, 2]: a row and the first of up to `queries` queries in it, the longest contexts first."""
    each = [np.arange(0, count, queries) for count in counts]
    rows = np.repeat(np.arange(len(counts)), [len(firsts) for firsts in each])
    firsts = np.concatenate(each) if each else np.zeros(0)
    tiles = np.stack([rows, firsts], axis=1).astype(np.int32)
    return tiles[np.argsort(-(firsts + np.asarray(starts)[rows]), kind="stable")]


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    tiles: Tensor,
    cu_queries: Tensor,
    cu_contexts: Tensor,
    launch: Launch = LAUNCH,
) -> Tensor:
    """Causal attention [T, Hq, D], the last query of a row seeing its whole context.

    q: [T, Hq, D]; k, v: [sum of contexts, Hkv, D], heads contiguous. cu_queries, cu_contexts: int32
    [rows + 1], where those of each row begin. tiles: of `tiling`, with the queries of `launch`.
    """
    heads, head_dim = q.shape[1:]
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    sides = (_described(k, launch), _described(v, launch)) if launch.descriptors else (k, v)
    kernel_on(q.device, prompts_kernel)[(heads, len(tiles))](
        q, *sides, out, tiles, cu_queries, cu_contexts, LOG2_E / math.sqrt(head_dim),
        q.stride(0), k.stride(0), v.stride(0), GROUP=heads // k.shape[1], HEAD_DIM=head_dim,
        BLOCK_M=launch.queries, BLOCK_N=launch.keys, DESCRIPTORS=launch.descriptors,
        num_warps=launch.warps, num_stages=launch.stages,
    )  # fmt: skip
    return out


def _described(side: Tensor, launch: Launch) -> TensorDescriptor:
    rows, heads, head_dim = side.shape
    return TensorDescriptor(side, [rows, heads * head_dim], [side.stride(0), 1], [launch.keys, head_dim])
