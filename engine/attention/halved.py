"""Attention of decodes in bf16 on a CPU: products of all rows at once.

PyTorch's own attention calls a product for every head of every row, which for one query costs more than the
product. Here there are two for a step, and a third that makes up for the rounding of the scores:

    rough = bf16(q k)    rest = bf16(q k - rough)    scores = fp32(rough + rest)

Any number of threads gives the same bits, and the error is about that of PyTorch's attention in bf16
(`tests/engine/attention/test_halved.py`).
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.cpu.scripting import scripted


@scripted
def attend_halved(
    q: Tensor, keys: Tensor, values: Tensor, slots: Tensor, mask: Tensor | None, scale: float
) -> Tensor:
    """One query per row over its context.

    Args:
        q: [B, Hq, D].
        keys, values: [num_slots, Hkv, D], Hq a multiple of Hkv.
        slots: int64 [B, L] of the positions of each row.
        mask: [B, 1, 1, L], added to the scores.

    Returns: [B, Hq, D].
    """
    num_rows, length = slots.shape
    num_kv_heads, head_dim = keys.shape[1], keys.shape[2]
    heads = torch.arange(num_kv_heads, device=slots.device)
    places = (slots[:, None] * num_kv_heads + heads[None, :, None]).view(num_rows * num_kv_heads, length)
    grouped = q.reshape(num_rows * num_kv_heads, -1, head_dim)
    k = torch.embedding(keys.flatten(0, 1), places).transpose(1, 2)
    rough = torch.bmm(grouped, k)
    rest = torch.baddbmm(rough, grouped, k, beta=-1.0)
    scores = rest.to(torch.float32).add_(rough).mul_(scale)
    if mask is not None:
        scores.view(num_rows, num_kv_heads, -1, length).add_(mask)
    shares = scores.softmax(-1).to(values.dtype)
    return torch.bmm(shares, torch.embedding(values.flatten(0, 1), places)).view(num_rows, -1, head_dim)
