"""Paged attention in Triton, for any block size: the backend of CUDA where nothing measures faster.

A decode splits its context over several programs when the batch alone would leave the device idle: one stream
with 2 key/value heads is 2 warps, with 64 splits it is 128 and a small second kernel that merges them. The
number of splits follows from the room of the step, never from its contents, so a captured graph serves
contexts of any length. On the CPU it runs in Triton's interpreter (TRITON_INTERPRET=1), for tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.attention.backend import AttentionBatch
from engine.attention.metadata import PagedMetadata
from engine.attention.paged import PagedBackend, Tokens
from engine.attention.triton_backend import kernels
from engine.attention.triton_backend.decodes import COMBINED, combine_kernel, decode_kernel
from engine.attention.whole_contexts import WholeContexts
from engine.kernels.fence import FENCE
from engine.kernels.launch import INTERPRETED, kernel_on, launch_options

DTYPES = {torch.float32: tl.float32, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}
MAX_HEAD_DIM = 256
MAX_SPLITS = 64
PROGRAMS_PER_PROCESSOR = 8
"""How many programs of decodes a processor holds at a time."""
FEW_PER_PROCESSOR = 10
"""With fewer programs most begin at once, and then the device waits for the longest contexts unless those are
divided. In halves (first ones before second ones) 74 streams of 860 to 1,750 positions take 117 us a layer on
an H200 instead of 162, 106 take 144 instead of 167, 131 take 161 instead of 164, but 165 take 191 instead of
178."""
DECODE_TILE_BYTES, TILE_BYTES = 8192, 16384
LOG2_E = math.log2(math.e)


@dataclass(frozen=True)
class Launch:
    """How kernels are launched; `benchmarks/gpu/kernels/attention_launches.py` measures others than these.

    Attributes:
        num_splits: parts of a decode's context, a power of two; None chooses by the device and the step.
        decode_tile: positions per step of a decode's loop, a power of two from 16; None: as many as make
            8 KiB of keys, 32 at most.
        ahead: whether a decode has its next tile brought to the device's cache while it multiplies one.
        tile: the same for a prefill; None: as many as make 16 KiB of keys, 64 at most.
        prefill_rows: queries times heads per tile of a prefill, a power of two from 16; None: 64, but 16 in
            fp32, whose products run in registers that would spill.
        prefill_warps, prefill_stages: warps of a program, and loads in flight in its loop.
    """

    num_splits: int | None = None
    decode_tile: int | None = None
    tile: int | None = None
    prefill_rows: int | None = None
    ahead: bool = True
    prefill_warps: int = 4
    prefill_stages: int = 3


class TritonBackend(PagedBackend):
    """See `PagedBackend`."""

    name = "triton"
    rotates = True
    normalises = True

    def __init__(
        self,
        device: torch.device | str,
        dtype: torch.dtype,
        block_size: int,
        launch: Launch | None = None,
    ) -> None:
        super().__init__(device, dtype, block_size)
        self._launch = launch or Launch()
        self._processors = 1
        if self._device.type == "cuda":
            self._processors = torch.cuda.get_device_properties(self._device).multi_processor_count
        self._whole_contexts = self._device.type == "cuda" and dtype in (torch.float16, torch.bfloat16)
        # The interpreter holds bfloat16 as bits, which it can convert but not multiply.
        self._operand = tl.float32 if INTERPRETED else DTYPES.get(dtype)

    def supports(
        self, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
    ) -> str | None:
        if device.type != "cuda" and not INTERPRETED:
            return f"needs CUDA, not {device.type}"
        if dtype not in DTYPES:
            return f"{dtype} is not one of {', '.join(map(str, DTYPES))}"
        if head_dim > MAX_HEAD_DIM:
            return f"head_dim {head_dim} is above {MAX_HEAD_DIM}"
        if head_dim % 2:
            return f"head_dim {head_dim} is odd"
        return self._built_for(device, dtype, block_size)

    def plan(self, batch: AttentionBatch, out: PagedMetadata | None = None) -> PagedMetadata:
        """Beside what `PagedBackend.plan` does, where whole contexts are for steps that are not recorded."""
        metadata = super().plan(batch, out)
        chunks_alone = metadata.shape.num_chunk_tokens and not metadata.shape.num_decodes
        if out is None and self._whole_contexts and chunks_alone:
            metadata.whole_contexts = WholeContexts(batch, self._block_size, self._device)
        return metadata

    def prefill_alone(self, tokens: Tokens, cache: Tensor, step: PagedMetadata) -> Tensor | None:
        if step.whole_contexts is None or tokens.rope is not None:
            return None
        store(tokens, cache, step.slots)
        rows = step.chunks
        return step.whole_contexts.attend(
            tokens.q, tokens.k, tokens.v, cache, rows.cu_queries, rows.cu_contexts
        )

    def decode(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        """One launch, storing included; a second one merges when contexts are split."""
        q, k, v = tokens.q, tokens.k, tokens.v
        (num_rows, num_heads, head_dim), num_kv_heads = q.shape, k.shape[1]
        block_n = self._launch.decode_tile or self._decode_tile(head_dim)
        splits = self._splits(num_rows * num_kv_heads, step.shape.max_context, block_n)
        partial, partial_lse = out, out
        if splits > 1:
            cells = (num_rows, num_heads, splits)
            partial = torch.empty(*cells, head_dim, dtype=torch.float32, device=q.device)
            partial_lse = torch.empty(cells, dtype=torch.float32, device=q.device)
        rows, group, options = step.decodes, num_heads // num_kv_heads, launch_options(q.device)
        kernel_on(q.device, decode_kernel)[(num_kv_heads, splits, num_rows)](
            q, k, v, cache, out, partial, partial_lse, rows.block_tables, rows.context_lens,
            *_factors(tokens), *(tokens.norms or (None, None, 0.0)), rows.block_tables.stride(0),
            LOG2_E / math.sqrt(head_dim), *q.stride()[:2], *k.stride()[:2], *v.stride()[:2], cache.stride(0),
            BLOCK_SIZE=self._block_size, KV_HEADS=num_kv_heads, GROUP=group, HALF=head_dim // 2,
            SPLITS=splits, BLOCK_M=max(16, triton.next_power_of_2(group)), BLOCK_N=block_n,
            BLOCK_HALF=max(32, triton.next_power_of_2(head_dim // 2)), OPERAND=self._operand,
            FENCE=FENCE, AHEAD=self._launch.ahead and not INTERPRETED,
            num_warps=1, num_stages=1, **options,
        )  # fmt: skip
        if splits > 1:
            kernel_on(q.device, combine_kernel)[(num_rows * num_heads,)](
                out, partial, partial_lse, rows.context_lens, HEADS=num_heads, HEAD_DIM=head_dim,
                SPLITS=splits, BLOCK_N=block_n, BLOCK_D=max(16, triton.next_power_of_2(head_dim)),
                COMBINED=COMBINED, num_warps=1, num_stages=1, **options,
            )  # fmt: skip

    def prefill(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        """Stores, then attends from the cache."""
        store(tokens, cache, step.slots[step.shape.num_decodes :])
        q, num_kv_heads = tokens.q, tokens.k.shape[1]
        num_tokens, num_heads, head_dim = q.shape
        group = num_heads // num_kv_heads
        block_d, block_n = self._tile(head_dim)
        fitting = 16 if self._dtype is torch.float32 else 64
        block_m = max(self._launch.prefill_rows or fitting, triton.next_power_of_2(group))
        block_q = block_m // group
        rows = step.chunks
        num_rows = len(rows.context_lens)
        kernel_on(q.device, kernels.prefill_kernel)[(num_tokens // block_q + num_rows, num_kv_heads)](
            q, cache, out, rows.block_tables, rows.context_lens, rows.cu_queries, *_factors(tokens),
            rows.block_tables.stride(0), num_rows, LOG2_E / math.sqrt(head_dim),
            *q.stride()[:2], cache.stride(0),
            BLOCK_SIZE=self._block_size, KV_HEADS=num_kv_heads, GROUP=group, HEAD_DIM=head_dim,
            BLOCK_Q=block_q, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_D=block_d,
            BLOCK_R=triton.next_power_of_2(num_rows), OPERAND=self._operand,
            num_warps=self._launch.prefill_warps, num_stages=self._launch.prefill_stages,
        )  # fmt: skip

    def _splits(self, num_programs: int, max_context: int, block_n: int) -> int:
        """Parts of each context: enough to fill the device, none without at least one tile; two where one
        program for each is little more than that."""
        if self._launch.num_splits is not None:
            return self._launch.num_splits
        wanted = self._processors * PROGRAMS_PER_PROCESSOR // num_programs
        if num_programs < self._processors * FEW_PER_PROCESSOR:
            wanted = max(2, wanted)
        useful = min(wanted, -(-max_context // block_n), MAX_SPLITS)
        return 1 << max(0, useful.bit_length() - 1)

    def _decode_tile(self, head_dim: int) -> int:
        """Positions of a decode's tile: what a warp's registers hold of keys and values."""
        width = triton.next_power_of_2(head_dim)
        return min(32, max(16, DECODE_TILE_BYTES // (width * self._dtype.itemsize)))

    def _tile(self, head_dim: int) -> tuple[int, int]:
        """Width of a vector, and positions per tile."""
        block_d = max(16, triton.next_power_of_2(head_dim))
        fitting = min(64, max(16, TILE_BYTES // (block_d * self._dtype.itemsize)))
        return block_d, self._launch.tile or fitting


def store(tokens: Tokens, cache: Tensor, slots: Tensor) -> None:
    """Writes keys, rotated if so asked, and values to `slots` [T] int32 of a cache layer; those with a
    negative slot nowhere. Their last dimension must be contiguous."""
    k, v = tokens.k, tokens.v
    num_tokens, num_kv_heads, head_dim = k.shape
    kernel_on(k.device, kernels.store_kernel)[(num_tokens,)](
        k, v, cache, slots, *_factors(tokens), *k.stride()[:2], *v.stride()[:2], cache.stride(0),
        KV_HEADS=num_kv_heads, HEAD_DIM=head_dim, BLOCK=triton.next_power_of_2(num_kv_heads * head_dim),
    )  # fmt: skip


def _factors(tokens: Tokens) -> tuple[Tensor | None, Tensor | None]:
    """Cosines and sines as the kernels take them, a row of D per token."""
    if tokens.rope is None:
        return None, None
    cos, sin = (factor.contiguous() for factor in tokens.rope)
    return cos, sin
