"""Linear layers of few rows whose work is spread evenly: y = x W^T over parts of K, then sum, residual, norm.

A product of, say, 22 rows is read twice over: the weights once, and x again by every program. What a program
can fetch per microsecond is limited, so its share of both has to be small, and all programs should run side
by side: a layer with few outputs shares out K over programs, too. Their sums, in fp32, are added in a fixed
order by a kernel of one program per row, which also adds the residual and takes the norm that comes next, so
that products find normalised rows and do nothing but multiply (`add_and_norm`).

Within a program outputs are the long side of a tile (`mma.m16n8`), rows the short one, padded to a multiple
of 8. Warps share out K, each with its own weights and activations, and add up at the end; nothing passes
through shared memory before (`operands`). Weights are under way before the kernel that makes the activations
has ended.

    hidden, normed = add_and_norm(partial_linear(attended, o), x, g, eps=1e-5)
    gated = split_linear(normed, gate_up, gated=True)
    hidden, normed = add_and_norm(partial_linear(gated, down), hidden, next_g, eps=1e-5)
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from engine.kernels.fence import FENCE
from engine.kernels.launch import kernel_on, launch_options
from engine.kernels.linear.split_kernel import split_linear_kernel
from engine.kernels.linear.split_tiling import SplitTiling, pays, row_tiles, split_tiling
from engine.kernels.low_rank.slots import LowRankRows
from engine.kernels.low_rank.within import NO_ADDITIONS, additions, fits_within


def fits(num_rows: int, weight: Tensor) -> bool:
    """Whether the products here serve `num_rows` rows with `weight`, and should; on the CPU (interpreter) of
    any type."""
    served = weight.dtype in (torch.bfloat16, torch.float16) or weight.device.type == "cpu"
    return served and weight.is_contiguous() and weight.shape[1] % 8 == 0 and pays(num_rows, *weight.shape)


def adds_itself(
    x: Tensor, weight: Tensor, low_rank: LowRankRows, split: bool = False, gated: bool = False
) -> bool:
    """Whether `split_linear`, gated or not, or with `split` `partial_linear`, takes these additions."""
    num_rows, num_outputs = x.numel() // x.shape[-1], len(weight) // (2 if gated else 1)
    tiling = split_tiling(num_rows, num_outputs, x.shape[-1], gated, split)
    return fits_within(low_rank, num_rows, tiling.outputs)


def split_linear(
    x: Tensor,
    weight: Tensor,
    *,
    bias: Tensor | None = None,
    gated: bool = False,
    tiling: SplitTiling | None = None,
    low_rank: LowRankRows | None = None,
) -> Tensor:
    """x @ weight^T + bias for x [..., K] of up to MAX_ROWS rows, weight [N, K] and bias [N], all contiguous.

    gated: weight is [2F, K], gates first; the result is silu(gate) * up, computed in fp32. There is no bias.
    tiling: in place of the one of `split_tiling`; with one part of K.
    low_rank: is added, where `adds_itself`; to gates and what they are multiplied with, before that.

    Returns: [..., N or F] of the type of x. Raises ValueError for a gate with a bias, and for more rows.
    """
    num_outputs = len(weight) // 2 if gated else len(weight)
    if gated and bias is not None:
        raise ValueError("a gated product has no bias")
    out = torch.empty(*x.shape[:-1], num_outputs, dtype=x.dtype, device=x.device)
    num_rows, size = x.numel() // x.shape[-1], x.shape[-1]
    tiling = tiling or split_tiling(num_rows, num_outputs, size, gated, False)
    _launch(x, weight, bias, out, gated, tiling, low_rank)
    return out


def partial_linear(
    x: Tensor, weight: Tensor, *, tiling: SplitTiling | None = None, low_rank: LowRankRows | None = None
) -> Tensor:
    """The product as for `split_linear`, not yet summed over parts of K: fp32 [parts, rows, N]."""
    num_rows, size = x.numel() // x.shape[-1], x.shape[-1]
    tiling = tiling or split_tiling(num_rows, len(weight), size, False, True)
    out = torch.empty(tiling.splits, num_rows, len(weight), dtype=torch.float32, device=x.device)
    _launch(x, weight, None, out, False, tiling, low_rank)
    return out


def _launch(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    out: Tensor,
    gated: bool,
    tiling: SplitTiling,
    low_rank: LowRankRows | None,
) -> None:
    size, num_outputs = x.shape[-1], out.shape[-1]
    num_rows, blocks = x.numel() // size, triton.cdiv(num_outputs, tiling.outputs)
    added, grid = NO_ADDITIONS, (blocks, tiling.splits)
    if low_rank is not None:
        if not fits_within(low_rank, num_rows, tiling.outputs):
            raise ValueError("the product does not add this itself, see adds_itself")
        added = additions(low_rank, num_rows)
        grid = (added["ITEMS"] + blocks * tiling.splits,)
    kernel_on(x.device, split_linear_kernel)[grid](
        x, weight, bias, out, num_rows, **added, **constants(num_rows, num_outputs, size, gated, tiling),
        num_warps=tiling.warps, num_stages=1, **launch_options(x.device),
    )  # fmt: skip


def constants(
    num_rows: int, num_outputs: int, size: int, gated: bool, tiling: SplitTiling
) -> dict[str, int | bool]:
    """What `split_linear_kernel` is compiled for, besides types, warps and `PDL`."""
    first, second = row_tiles(num_rows)
    steps = triton.cdiv(size, tiling.step * tiling.splits)
    part = steps * tiling.step
    return {
        "N": num_outputs, "K": size, "PART": part, "MASKED": part * tiling.splits != size, "BLOCK_M": first,
        "TAIL": second, "BLOCK_N": tiling.outputs, "BLOCK_K": tiling.step, "EARLY": min(tiling.early, steps),
        "AHEAD": min(tiling.ahead, steps), "WARPS": tiling.warps, "GATED": gated, "FENCE": FENCE,
    }  # fmt: skip
