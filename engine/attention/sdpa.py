"""Paged attention on any device: gather the pages, call PyTorch's scaled dot-product attention.

It is the backend of the CPU and the reference that the other backends are tested against. The decodes that
lead a batch are gathered into one padded batch and served by one call, every other row by a call of its own.
Two details carry the correctness:

* Padding of the gather points at the last position of the same row, never at an unused slot, so whatever an
  unused slot holds, NaN included, cannot reach a sum. The mask then removes the duplicates.
* PyTorch's `is_causal` aligns top-left when there are fewer queries than keys, so only a chunk that starts at
  position 0 uses it; a later chunk brings its own bottom-right mask.

Grouped query heads become a dimension of their own, which spares expanding keys and values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from engine.attention.backend import AttentionBatch, HeadNorms, Rope, StepShape
from engine.attention.halved import attend_halved
from engine.cpu.threads import one_thread
from engine.device.staging import upload
from engine.errors import EngineError
from engine.layers.rotary import apply_rotary


@dataclass
class DecodeRows:
    """The leading rows of one query each: slots `gather` [B, L], additive `mask` [B, 1, 1, L] if padded."""

    gather: Tensor
    mask: Tensor | None


@dataclass
class ChunkRow:
    """A row with its queries at [begin, end) of q.

    `gather` [L] holds the slots of its context, None when the chunk is the whole context; `mask` [count, L]
    is additive, None when causal top-left is right (whole context) or nothing is masked (one query).
    """

    begin: int
    end: int
    gather: Tensor | None
    mask: Tensor | None


@dataclass
class SDPAMetadata:
    """One step: the slot [T] of every computed position, then the rows by kind."""

    slots: Tensor
    decodes: DecodeRows | None
    chunks: list[ChunkRow]


def slots_of(block_table: list[int], start: int, end: int, block_size: int) -> np.ndarray:
    """Slots (block number * block_size + offset in the block) of positions [start, end), int64."""
    blocks = np.asarray(block_table[start // block_size : -(-end // block_size)], dtype=np.int64)
    slots = (blocks[:, None] * block_size + np.arange(block_size)).reshape(-1)
    offset = start % block_size
    return slots[offset : offset + end - start]


class SDPABackend:
    """Gather pages, then `torch.nn.functional.scaled_dot_product_attention`.

    Args:
        device, dtype: of queries, keys, values and cache.
        block_size: positions per block of the cache.
    """

    name = "sdpa"
    capturable = False
    rotates = False
    normalises = False

    def __init__(self, device: torch.device | str, dtype: torch.dtype, block_size: int) -> None:
        self._device = torch.device(device)
        self._dtype = dtype
        self._block_size = block_size

    def supports(
        self, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
    ) -> str | None:
        """Any floating point type on any device, with the dtype and block size it was built for."""
        if not dtype.is_floating_point:
            return f"{dtype} is not a floating point type"
        if (dtype, block_size) != (self._dtype, self._block_size):
            return f"built for {self._dtype}, block size {self._block_size}; not {dtype}, {block_size}"
        return None

    def buffers(self, shape: StepShape) -> SDPAMetadata:
        """Raises EngineError: how much is gathered differs from batch to batch, which no graph can hold."""
        raise EngineError("the sdpa backend cannot be captured in a graph")

    def plan(self, batch: AttentionBatch, out: SDPAMetadata | None = None) -> SDPAMetadata:
        """Slots, gather indices and masks of one step, on the backend's device.

        Raises EngineError for `out`: nothing is refilled here.
        """
        if out is not None:
            raise EngineError("metadata of the sdpa backend cannot be refilled")
        num_decodes = batch.num_leading_decodes
        context_lens = batch.context_lens
        contexts = [
            slots_of(table, 0, length, self._block_size)
            for table, length in zip(batch.block_tables, context_lens, strict=True)
        ]
        written = [context[start:] for context, start in zip(contexts, batch.starts, strict=True)]
        slots = np.concatenate(written) if written else np.zeros(0, dtype=np.int64)
        decodes = self._plan_decodes(contexts[:num_decodes]) if num_decodes else None
        chunks = []
        begin = num_decodes
        for context, start, count in zip(
            contexts[num_decodes:], batch.starts[num_decodes:], batch.counts[num_decodes:], strict=True
        ):
            if count:
                chunks.append(self._plan_chunk(begin, start, count, context))
            begin += count
        return SDPAMetadata(self._to_device(slots), decodes, chunks)

    def _to_device(self, array: np.ndarray) -> Tensor:
        return upload(array, self._device)

    def _plan_decodes(self, contexts: list[np.ndarray]) -> DecodeRows:
        lengths = np.array([len(context) for context in contexts])
        longest = int(lengths.max())
        gather = np.empty((len(contexts), longest), dtype=np.int64)
        for row, context in zip(gather, contexts, strict=True):
            row[: len(context)] = context
            row[len(context) :] = context[-1]
        mask = None
        if lengths.min() < longest:
            padding = torch.from_numpy(np.arange(longest)[None, :] >= lengths[:, None])
            mask = self._additive(padding)[:, None, None, :]
        return DecodeRows(self._to_device(gather), mask)

    def _plan_chunk(self, begin: int, start: int, count: int, context: np.ndarray) -> ChunkRow:
        if start == 0:
            return ChunkRow(begin, begin + count, None, None)
        mask = None
        if count > 1:
            future = torch.ones(count, start + count, dtype=torch.bool).triu_(start + 1)
            mask = self._additive(future)
        return ChunkRow(begin, begin + count, self._to_device(context), mask)

    def _additive(self, hidden: Tensor) -> Tensor:
        mask = torch.zeros(hidden.shape, dtype=self._dtype).masked_fill_(hidden, float("-inf"))
        return mask.to(self._device)

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        kv_cache: Tensor,
        metadata: SDPAMetadata,
        rope: Rope | None = None,
        norms: HeadNorms | None = None,
    ) -> Tensor:
        """Stores k, v [T, Hkv, D] into `kv_cache`, attends q [T, Hq, D]; see `AttentionBackend.forward`."""
        if rope is not None:
            q, k = apply_rotary(q, *rope), apply_rotary(k, *rope)
        keys, values = kv_cache.view(2, -1, *k.shape[1:]).unbind(0)
        keys.index_copy_(0, metadata.slots, k)
        values.index_copy_(0, metadata.slots, v)
        outputs = []
        if metadata.decodes is not None:
            outputs.append(_attend_decodes(q, keys, values, metadata.decodes))
        with one_thread():
            outputs.extend(_attend_chunk(q, k, v, keys, values, row) for row in metadata.chunks)
        if not outputs:
            return torch.empty_like(q)
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)


def _gather(cache: Tensor, slots: Tensor) -> Tensor:
    """Rows `slots` [...] of `cache` [num_slots, Hkv, D] as [..., Hkv, D]; `embedding` copies rows fastest."""
    num_slots, num_kv_heads, head_dim = cache.shape
    rows = torch.embedding(cache.view(num_slots, num_kv_heads * head_dim), slots)
    return rows.view(*slots.shape, num_kv_heads, head_dim)


def _attend_decodes(q: Tensor, keys: Tensor, values: Tensor, rows: DecodeRows) -> Tensor:
    """One query per row, [B, Hq, D]; the heads of a group stand where queries normally do."""
    num_rows, num_heads, head_dim = rows.gather.shape[0], q.shape[1], q.shape[2]
    if q.dtype is torch.bfloat16 and q.device.type == "cpu":
        return attend_halved(q[:num_rows], keys, values, rows.gather, rows.mask, head_dim**-0.5)
    grouped = q[:num_rows].reshape(num_rows, keys.shape[1], -1, head_dim)
    with one_thread():
        k = _gather(keys, rows.gather).transpose(1, 2)
        v = _gather(values, rows.gather).transpose(1, 2)
        out = F.scaled_dot_product_attention(grouped, k, v, rows.mask)
    return out.reshape(num_rows, num_heads, head_dim)


def _attend_chunk(q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, row: ChunkRow) -> Tensor:
    """The queries of one row, [count, Hq, D]; key/value heads stand where the batch normally does."""
    if row.gather is None:
        k, v = k[row.begin : row.end], v[row.begin : row.end]
    else:
        k, v = _gather(keys, row.gather), _gather(values, row.gather)
    num_kv_heads = k.shape[1]
    grouped = q[row.begin : row.end].unflatten(1, (num_kv_heads, -1)).permute(1, 2, 0, 3)
    shape = (num_kv_heads, grouped.shape[1], -1, -1)
    k, v = (part.transpose(0, 1)[:, None].expand(shape) for part in (k, v))
    out = F.scaled_dot_product_attention(grouped, k, v, row.mask, is_causal=row.gather is None)
    return out.permute(2, 0, 1, 3).flatten(1, 2)
