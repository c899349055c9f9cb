"""What some kernels make in Triton's interpreter as it is.

    TRITON_INTERPRET=1 python -m tests.engine.kernels.interpreted OUT     # a safetensors file

`test_interpreter.py` compares it with what the same kernels make in a process of tests.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from engine.kernels.activation import silu_mul
from engine.kernels.linear.split_linear import split_linear
from engine.kernels.low_rank.around import apart, with_low_rank
from engine.kernels.low_rank.slots import LowRankRows, LowRankSlots, Zeros
from engine.kernels.norms.add_and_norm import add_and_norm
from engine.kernels.norms.norm import rms_norm
from engine.kernels.row_attention import row_attention
from engine.layers.low_rank import LowRankPlace, turns_of

CPU = torch.device("cpu")


def _rows(slots: list[int], size: int, outputs: tuple[int, ...], rank: int = 16) -> LowRankRows:
    up = len(outputs) * rank * size
    storage = torch.randn(2, up + sum(outputs) * rank)
    place = LowRankPlace(0, up, size, outputs)
    turns = torch.from_numpy(turns_of(np.array(slots)))
    return LowRankRows(LowRankSlots(storage, place, rank), turns, Zeros(CPU))


def results() -> dict[str, Tensor]:
    """Of inputs from a seed."""
    return {
        f"{name}, {dtype}": tensor
        for dtype in (torch.float32, torch.bfloat16)
        for name, tensor in _results(dtype).items()
    }


def _results(dtype: torch.dtype) -> dict[str, Tensor]:
    torch.manual_seed(3)
    x, weight, norm = torch.randn(6, 64), torch.randn(96, 64) / 8, torch.rand(64)
    rows, few = _rows([1, -1, 0, 1, -1, 0], 64, (64, 32)), _rows([1, -1], 64, (64, 32))
    qkv = torch.randn(2, 11, 6 * 32)
    angles = torch.randn(11, 1, 32)
    x, weight, norm, qkv = (tensor.to(dtype) for tensor in (x, weight, norm, qkv))
    low_rank = {} if dtype != torch.float32 else _with_adapters(x, weight, rows, few)
    hidden, normed = add_and_norm(torch.randn(2, 6, 64), x, norm, 1e-5, 0.5)
    return low_rank | {
        "norm": rms_norm(x, norm, 1e-6),
        "gate": silu_mul(torch.randn(5, 80).to(dtype)),
        "hidden": hidden,
        "normed": normed,
        "linear": split_linear(x, weight),
        "attention": row_attention(qkv, 4, 1, (angles.cos(), angles.sin()), slice(-4, None)),
    }


def _with_adapters(x: Tensor, weight: Tensor, rows: LowRankRows, few: LowRankRows) -> dict[str, Tensor]:
    y, delta = apart(lambda: x @ weight.T, x, rows)
    return {
        "behind": with_low_rank(lambda: x @ weight.T, x, rows),
        "apart": silu_mul(y, delta),
        "within": split_linear(x[:2], weight, low_rank=few),
    }


if __name__ == "__main__":
    save_file(results(), sys.argv[1])
