"""Attention to keys and values that all live on the host: contexts longer than the device's memory.

The cache is a `StreamedCache`: slots of host memory, and a ring of a few blocks of one layer on the device.
For every layer of a step, the blocks that its rows have seen before come through the ring, while attention
runs over those that are there already:

    own keys and values of the step  ->  result, log-sum-exp
    ring, first half:  blocks 0..63   ->  another one, merged with it
    ring, second half: blocks 64..127 ->  ...           (the first half is loaded meanwhile)

On the host, keys and values of a layer lie block after block, so blocks that follow each other come in one
copy. What a step computes goes there as it is. Loading runs ahead over the end of a layer: while its MLP is
computed, the first blocks of the next one come. Partial results are merged in fp32, so the order and size of
the parts do not matter but for rounding. With a ring of two blocks there is one for the past, and nothing
overlaps; from three on it has two halves.

On CUDA loading and storing have a stream each; a half is loaded again once the device has computed with it.
On other devices everything happens in turn, through the same lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from engine.attention.backend import AttentionBatch
from engine.cpu.threads import one_thread
from engine.device.side_stream import Moment, SideStream
from engine.errors import EngineError
from engine.kv_cache.host_slots import HostSlots, Span, spans_of

PART_POSITIONS = 8192
"""The most positions in a part: a longer one would take longer to load before anything is computed."""


class Target(NamedTuple):
    """Blocks on the host for the positions [begin, end) of a step, from `offset` in the first block on."""

    blocks: list[Span]
    offset: int
    begin: int
    end: int


class Part(NamedTuple):
    """Blocks on the host that the queries [begin, end) of a step see, up to `length` positions."""

    begin: int
    end: int
    blocks: list[Span]
    length: int


@dataclass(slots=True)
class Half:
    """A part of the ring [2, blocks, block_size, heads, head_dim]. read: when it was computed with last."""

    tensor: Tensor
    read: Moment
    loaded: Moment


class StreamedCache:
    """Keys and values of `num_layers` layers in `num_blocks` blocks of the host.

    Args:
        ring_blocks: blocks on the device, of one layer; one of them for what a step computes itself.

    Raises:
        EngineError: the ring has fewer than two blocks, or the host not enough memory.
    """

    def __init__(
        self,
        num_layers: int,
        num_blocks: int,
        block_size: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device,
        ring_blocks: int,
    ) -> None:
        if ring_blocks < 2:
            raise EngineError(f"gpu_kv_blocks must be at least 2, got {ring_blocks}")
        if device.type == "cuda" and dtype not in (torch.float16, torch.bfloat16):
            raise EngineError(f"kv_offload serves bf16 and fp16 on a GPU, not {dtype}")
        self.num_layers, self.block_size, self._num_blocks = num_layers, block_size, num_blocks
        self.dtype = dtype
        shape = (block_size, num_kv_heads, head_dim)
        self._slots = HostSlots(2 * num_layers * num_blocks, shape, dtype, pinned=device.type == "cuda")
        self.up, self.down = SideStream(device, "kv up"), SideStream(device, "kv down")
        past = ring_blocks - 1
        most = max(1, PART_POSITIONS // block_size)
        sizes = [min(past, most)] if past == 1 else [min(past - past // 2, most), min(past // 2, most)]
        self.part_blocks = min(sizes)
        ring = [torch.zeros(2, self.part_blocks, *shape, dtype=dtype, device=device) for _ in sizes]
        for tensor in ring:
            self.up.borrow(tensor)
        self.halves = [Half(tensor, self.up.moment(), self.up.moment()) for tensor in ring]

    def runs(self, layer: int, values: bool, blocks: list[Span]) -> Iterator[tuple[int, Tensor]]:
        """Keys or values of `blocks` on the host, see `HostSlots.runs`."""
        return self._slots.runs(blocks, (2 * layer + values) * self._num_blocks)

    def step(self, batch: AttentionBatch) -> StreamedAttention:
        """The attention of one step."""
        return StreamedAttention(self, batch)


class StreamedAttention:
    """Attention of one step, whose layers are called in their order, each once."""

    def __init__(self, cache: StreamedCache, batch: AttentionBatch) -> None:
        self._cache = cache
        self._alone = batch.num_leading_decodes
        self._rows: list[tuple[int, int]] = []
        self._parts: list[Part] = []
        self._targets: list[Target] = []
        begin = 0
        for start, count, table in zip(batch.starts, batch.counts, batch.block_tables, strict=True):
            self._rows.append((begin, begin + count))
            self._parts += self._past(begin, start, count, table)
            first, last = start // cache.block_size, -(-(start + count) // cache.block_size)
            blocks = spans_of(table[first:last])
            self._targets.append(Target(blocks, start % cache.block_size, begin, begin + count))
            begin += count
        self._issued = 0
        with cache.up.on():
            cache.down.moment().hold_up()  # what earlier steps computed is there before it is loaded
        for _ in cache.halves:
            self._load_next()

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Stores k, v [T, Hkv, D] in the cache's precision; returns the attention of q, [T, Hq, D]."""
        given, dtype = q.dtype, self._cache.dtype
        q, k, v = q.to(dtype), k.to(dtype).contiguous(), v.to(dtype).contiguous()
        self._store(layer, k, v)
        with one_thread():
            return self._attend(layer, q, k, v).to(given)

    def _attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        alone = self._alone
        results = [attend_one(q[:alone], k[:alone], v[:alone])] if alone else []
        results += [attend(q[b:e], k[b:e], v[b:e], causal=e - b > 1) for b, e in self._rows[alone:]]
        out = torch.cat([result.float() for result, _ in results])
        weight = torch.cat([lse for _, lse in results])
        for number, part in enumerate(self._parts, start=layer * len(self._parts)):
            half = self._cache.halves[number % len(self._cache.halves)]
            half.loaded.hold_up()
            merge_(out, weight, part, self._attend_part(q, part, half))
            half.read = self._cache.up.outside()
            self._load_next()
        return out

    def _attend_part(self, q: Tensor, part: Part, half: Half) -> tuple[Tensor, Tensor]:
        keys, values = half.tensor.flatten(1, 2).unbind(0)
        return attend(q[part.begin : part.end], keys[: part.length], values[: part.length], causal=False)

    def _past(self, begin: int, start: int, count: int, table: list[int]) -> list[Part]:
        """In any order, so in that in which most blocks follow each other; a part of a block is the last."""
        size, room = self._cache.block_size, self._cache.part_blocks
        blocks = [*sorted(table[: start // size]), *table[start // size : -(-start // size)]]
        return [
            Part(
                begin,
                begin + count,
                spans_of(blocks[first : first + room]),
                min(room * size, start - first * size),
            )
            for first in range(0, len(blocks), room)
        ]

    def _load_next(self) -> None:
        """Begins to load the next part, be it of this layer or of the next one."""
        cache, number = self._cache, self._issued
        if not self._parts or number >= cache.num_layers * len(self._parts):
            return
        self._issued += 1
        layer, which = divmod(number, len(self._parts))
        half, part = cache.halves[number % len(cache.halves)], self._parts[which]
        with cache.up.on():
            half.read.hold_up()
            for values in (False, True):
                for place, run in cache.runs(layer, values, part.blocks):
                    half.tensor[int(values), place : place + len(run)].copy_(run, non_blocking=True)
        half.loaded = cache.up.moment()

    def _store(self, layer: int, k: Tensor, v: Tensor) -> None:
        down = self._cache.down
        down.follow()
        down.borrow(k)
        down.borrow(v)
        with down.on():
            for target in self._targets:
                self._send(layer, False, target, k)
                self._send(layer, True, target, v)

    def _send(self, layer: int, values: bool, target: Target, new: Tensor) -> None:
        size = self._cache.block_size
        for place, run in self._cache.runs(layer, values, target.blocks):
            # Positions of the run within the step; the first block may begin and the last one end outside.
            first = target.begin + place * size - target.offset
            begin, end = max(first, target.begin), min(first + len(run) * size, target.end)
            run.flatten(0, 1)[begin - first : end - first].copy_(new[begin:end], non_blocking=True)


def attend(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    """Attention of q [N, Hq, D] to k, v [L, Hkv, D], all of them or, where N is L, causally.

    Returns: result [N, Hq, D], log-sum-exp of its scores fp32 [N, Hq].
    """
    if q.is_cuda:
        sizes = (len(q), len(k), 0.0, causal, False)
        out, lse = torch.ops.aten._flash_attention_forward(q[None], k[None], v[None], None, None, *sizes)[:2]
        return out[0], lse[0].transpose(0, 1)
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    q, k, v = (part.transpose(0, 1)[None] for part in (q, k, v))
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal)
    return out[0].transpose(0, 1), lse[0].transpose(0, 1)


def attend_one(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """`attend` of each query of q [N, Hq, D] to its own key and value alone, k, v [N, Hkv, D]."""
    groups = q.shape[1] // k.shape[1]
    scores = (q.unflatten(1, (-1, groups)).float() * k[:, :, None].float()).sum(-1)
    return v.repeat_interleave(groups, 1), (scores / math.sqrt(q.shape[-1])).flatten(1)


def merge_(out: Tensor, weight: Tensor, part: Part, more: tuple[Tensor, Tensor]) -> None:
    """Adds the attention to another part of the context to that of the queries [begin, end), in place."""
    result, lse = more
    rows, old = out[part.begin : part.end], weight[part.begin : part.end]
    if out.is_cuda:
        from engine.kernels import merge

        merge.merge_(rows, old, result.contiguous(), lse)
        return
    new = torch.logaddexp(old, lse)
    rows.mul_((old - new).exp_()[..., None]).add_(result * (lse - new).exp_()[..., None])
    old.copy_(new)
