"""What stands between two calls of the flow's velocity estimator, in one Triton kernel.

A call ends in velocities and the next begins with tokens. Between them are guidance (CFG-Zero*, see
`flow_matching.guide`), an Euler step and the projection of the new patch, each tiny: a program does all three
for a few streams, with guidance and step in fp32, and writes its columns of the tokens. Without a velocity it
projects what it is given, which serves the first call, the previous patch and the local encoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from engine.kernels.launch import kernel_on, launch_options

_ROWS = 16
"""Rows of the smallest tile that can be multiplied."""
_COLUMNS = 64


@triton.jit
def _guided(positive, negative, stream, cfg_values):
    """`flow_matching.guide` of velocities [R, D], where the rows of one stream make up its patch."""
    same = stream[:, None] == stream[None, :]
    dot = tl.sum(tl.where(same, tl.sum(positive * negative, 1)[None, :], 0.0), 1)
    square = tl.sum(tl.where(same, tl.sum(negative * negative, 1)[None, :], 0.0), 1)
    scaled = negative * (dot / (square + 1e-8))[:, None]
    return scaled + cfg_values[:, None] * (positive - scaled)


@triton.jit(do_not_specialize=["num_rows"])
def flow_step_kernel(
    x, velocity, cfg_values, out, weight, bias, tokens, head, head_shift, num_rows, step_size,
    PATCH: tl.constexpr, DIM: tl.constexpr, HIDDEN: tl.constexpr, LENGTH: tl.constexpr,
    PLACE: tl.constexpr, HEAD_PLACE: tl.constexpr, BRANCHES: tl.constexpr, STREAMS: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_H: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """Program (block of STREAMS streams, block of BLOCK_H columns); tiles hold PATCH rows per stream.

    With `velocity`, x moves by `step_size` against it, and the programs of column block 0 write the new x to
    `out`, which no program reads. With `tokens`, those from PLACE on become the projected x in every branch.
    With `head`, token HEAD_PLACE becomes it, in branch 0 plus `head_shift` [num_rows, HIDDEN] if given.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    first_stream = tl.program_id(0).to(tl.int64) * STREAMS
    row, d = tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_D)
    column = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    in_dim, in_hidden = d < DIM, column < HIDDEN
    stream = first_stream + row // PATCH
    in_rows = (row < STREAMS * PATCH) & (stream < num_rows)
    in_patch = in_rows[:, None] & in_dim[None, :]
    offset = (first_stream * PATCH + row)[:, None] * DIM + d[None, :]
    if tokens is not None:
        in_weight = in_hidden[:, None] & in_dim[None, :]
        factors = tl.load(weight + column[:, None] * DIM + d[None, :], mask=in_weight, other=0.0)
        shift = tl.load(bias + column, mask=in_hidden, other=0.0).to(tl.float32)
    if PDL:
        tl.extra.cuda.gdc_wait()

    patch = tl.load(x + offset, mask=in_patch, other=0.0).to(tl.float32)
    if velocity is not None:
        speed = tl.load(velocity + offset, mask=in_patch, other=0.0).to(tl.float32)
        if BRANCHES == 2:
            free = velocity + (num_rows * PATCH * DIM + offset)
            free = tl.load(free, mask=in_patch, other=0.0).to(tl.float32)
            speed = _guided(speed, free, stream, tl.load(cfg_values + stream, mask=in_rows, other=0.0))
        patch -= step_size * speed
        tl.store(out + offset, patch, mask=in_patch & (tl.program_id(1) == 0))
    if tokens is not None:
        projected = tl.dot(patch.to(factors.dtype), tl.trans(factors), input_precision="ieee")
        projected = (projected + shift[None, :]).to(tokens.dtype.element_ty)
        for branch in tl.static_range(BRANCHES):
            place = (branch * num_rows + stream) * LENGTH + PLACE + row % PATCH
            target = tokens + place[:, None] * HIDDEN + column[None, :]
            tl.store(target, projected, mask=in_rows[:, None] & in_hidden[None, :])
    if head is not None:
        member = tl.arange(0, BLOCK_S)
        owner = first_stream + member
        in_heads = ((member < STREAMS) & (owner < num_rows))[:, None] & in_hidden[None, :]
        embedding = tl.load(head + column, mask=in_hidden, other=0.0).to(tl.float32)
        for branch in tl.static_range(BRANCHES):
            value = tl.zeros([BLOCK_S, BLOCK_H], tl.float32) + embedding[None, :]
            if head_shift is not None and branch == 0:
                source = head_shift + owner[:, None] * HIDDEN + column[None, :]
                value += tl.load(source, mask=in_heads, other=0.0).to(tl.float32)
            place = (branch * num_rows + owner) * LENGTH + HEAD_PLACE
            target = tokens + place[:, None] * HIDDEN + column[None, :]
            tl.store(target, value.to(tokens.dtype.element_ty), mask=in_heads)


@dataclass(frozen=True)
class Placement:
    """Where projected patches go: into the rows of tokens [branches N, L, h], contiguous, from `place` on.

    `head` [h] goes to token `head_place`, with `head_shift` [N, h] added to it in the first N rows.
    """

    tokens: Tensor
    place: int
    head: Tensor | None = None
    head_place: int = 0
    head_shift: Tensor | None = None


@dataclass(frozen=True)
class Step:
    """An Euler step: velocity [2N, P, D] with cfg_value fp32 [N, 1, 1], or [N, P, D] without; contiguous."""

    velocity: Tensor
    cfg_value: Tensor | None
    size: float


def place_patches(x: Tensor, projection: nn.Linear, target: Placement) -> None:
    """Projects patches x [N, P, D] of any float type into `target`, every branch the same."""
    branches = len(target.tokens) // len(x) if len(x) else 1
    _launch(x.contiguous(), None, None, projection, target, branches)


def flow_step(x: Tensor, step: Step, projection: nn.Linear, target: Placement | None) -> Tensor:
    """x - size * guide(velocity, cfg_value) for x fp32 [N, P, D], projected into `target` if there is one."""
    out = torch.empty_like(x)
    _launch(x, step, out, projection, target, 1 if step.cfg_value is None else 2)
    return out


def _launch(
    x: Tensor,
    step: Step | None,
    out: Tensor | None,
    projection: nn.Linear,
    target: Placement | None,
    branches: int,
) -> None:
    (num_rows, patch, dim), hidden = x.shape, projection.out_features
    streams = max(1, _ROWS // patch)
    columns = triton.cdiv(hidden, _COLUMNS) if target else 1
    kernel_on(x.device, flow_step_kernel)[(triton.cdiv(num_rows, streams), columns)](
        x, step.velocity if step else None, step.cfg_value if step else None, out,
        projection.weight, projection.bias, target.tokens if target else None,
        target.head if target else None, target.head_shift if target else None,
        num_rows, step.size if step else 0.0,
        PATCH=patch, DIM=dim, HIDDEN=hidden, LENGTH=target.tokens.shape[1] if target else 0,
        PLACE=target.place if target else 0, HEAD_PLACE=target.head_place if target else 0,
        BRANCHES=branches, STREAMS=streams, BLOCK_R=max(_ROWS, triton.next_power_of_2(streams * patch)),
        BLOCK_S=triton.next_power_of_2(streams), BLOCK_D=max(16, triton.next_power_of_2(dim)),
        BLOCK_H=_COLUMNS, **launch_options(x.device),
    )  # fmt: skip
