"""What the flash-attn and torch varlen backends hand to their libraries, without a GPU.

The library's functions are replaced by what their documentation says, written out in PyTorch: paged keys and
values, bottom-right causal masks, zeros for rows without keys. With it the backends have to pass the suite of
all others; whether the real kernels do is for a GPU to show.
"""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import torch
from torch import Tensor

from engine.attention import AttentionBackend
from tests.engine.attention import conformance as rules
from tests.engine.attention.conformance import Case

CPU = torch.device("cpu")
CASES = [
    *(
        Case(name, rules.MIXES[name])
        for name in ("decodes of unequal length", "decode after a chunk", "no rows")
    ),
    *(Case(name, rules.MIXES[name]) for name in ("rows without positions", "later chunk", "first position")),
    Case("mixed", rules.MIXED, block_size=256, heads=(6, 2)),
]


def attend_row(q: Tensor, keys: Tensor, values: Tensor, table: Tensor, context: int) -> Tensor:
    """q [n, Hq, D] at the end of `context` positions in pages [blocks, block_size, Hkv, D]."""
    num_queries, num_heads, head_dim = q.shape
    if not context or not num_queries:
        return torch.zeros_like(q)
    blocks = table[: -(-context // keys.shape[1])].long()
    k, v = (pages[blocks].flatten(0, 1)[:context] for pages in (keys, values))
    k, v = (part.repeat_interleave(num_heads // keys.shape[2], 1) for part in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) / head_dim**0.5
    future = torch.ones(num_queries, context, dtype=torch.bool).triu(context - num_queries + 1)
    return torch.einsum("hqk,khd->qhd", scores.masked_fill(future, float("-inf")).softmax(-1), v)


def attend_rows(
    q: Tensor, keys: Tensor, values: Tensor, cu_q: Tensor, contexts: Tensor, tables: Tensor
) -> Tensor:
    """What is behind the last row is left as it was: anything."""
    assert cu_q[0] == 0 and cu_q[-1] <= len(q) and len(cu_q) == len(contexts) + 1 == len(tables) + 1
    rows = zip(cu_q.tolist(), cu_q[1:].tolist(), tables, contexts.tolist(), strict=False)
    attended = [attend_row(q[begin:end], keys, values, table, n) for begin, end, table, n in rows]
    return torch.cat([*attended, torch.full_like(q[cu_q[-1] :], float("nan"))])


def flash_attn_with_kvcache(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, *, cache_seqlens: Tensor, block_table: Tensor, causal: bool
) -> Tensor:
    assert causal and q.shape[:2] == (len(block_table), 1)
    cu_q = torch.arange(len(q) + 1)
    return attend_rows(q[:, 0], k_cache, v_cache, cu_q, cache_seqlens, block_table)[:, None]


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    *,
    causal: bool,
    block_table: Tensor,
) -> Tensor:
    assert causal and max_seqlen_q >= max(2, cu_seqlens_q.diff().max())
    assert max_seqlen_k >= cu_seqlens_k.diff().max()
    return attend_rows(q, k, v, cu_seqlens_q, cu_seqlens_k.diff(), block_table)


def varlen_attn(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    window_size: tuple[int, int],
    enable_gqa: bool,
    seqused_k: Tensor,
    block_table: Tensor,
    num_splits: int,
) -> Tensor:
    assert window_size == (-1, 0) and num_splits == 1 and enable_gqa == (q.shape[1] != k.shape[2])
    assert torch.equal(cu_seq_k.diff(), seqused_k) and max_k >= seqused_k.max()
    assert max_q >= cu_seq_q.diff().max()
    return attend_rows(q, k, v, cu_seq_q, seqused_k, block_table)


def build(name: str, case: Case, monkeypatch: pytest.MonkeyPatch) -> AttentionBackend:
    if name == "flash":
        library = ModuleType("flash_attn")
        library.flash_attn_with_kvcache = flash_attn_with_kvcache
        library.flash_attn_varlen_func = flash_attn_varlen_func
        monkeypatch.setitem(sys.modules, "flash_attn", library)
        # Imported anew, and forgotten after the test: it holds the library's functions.
        monkeypatch.setitem(sys.modules, "engine.attention.flash", None)
        del sys.modules["engine.attention.flash"]
        from engine.attention.flash import FlashBackend as Backend
    else:
        monkeypatch.setattr("engine.attention.torch_varlen.varlen_attn", varlen_attn)
        from engine.attention.torch_varlen import TorchVarlenBackend as Backend
    return Backend(CPU, case.dtype, case.block_size)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", ["flash", "torch_varlen"])
def test_a_step_reaches_the_library_as_it_documents(
    name: str, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules.check_step(build(name, case, monkeypatch), case, CPU)


@pytest.mark.parametrize("name", ["flash", "torch_varlen"])
def test_padding_reaches_the_library_as_rows_without_keys(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("padding", ())
    backend = build(name, case, monkeypatch)
    rules.check_replay(backend, case, rules.DECODE_BATCHES, rules.DECODE_SHAPE, CPU)
    rules.check_replay(backend, case, rules.MIXED_BATCHES, rules.MIXED_SHAPE, CPU)
