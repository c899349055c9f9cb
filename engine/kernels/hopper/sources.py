"""What both kernels of this room share: their sources, their devices, and what they check."""

from __future__ import annotations

import logging
from functools import cache

import torch
from torch import Tensor

from engine.device.bindings import are_known
from engine.kernels.hopper.program import SOURCES, Program
from engine.kernels.launch import pdl
from engine.kernels.low_rank.slots import LowRankRows

logger = logging.getLogger(__name__)

CAPABILITY = (9, 0)
RANK = 32
"""Of slots, which is that of their widest adapter."""
BOX = 64
"""Elements of K in a box of the memory engine: rows of 128 bytes."""


@cache
def processors(device: torch.device) -> int:
    """How many there are; none on devices for which the kernels are not made."""
    if not pdl(device) or torch.cuda.get_device_capability(device) != CAPABILITY:
        return 0
    if not are_known():
        logger.info("the kernels for products with adapters are not used: they need cuda.bindings 13")
        return 0
    return torch.cuda.get_device_properties(device).multi_processor_count


def could_serve(weight: Tensor, rows: LowRankRows) -> bool:
    """Whether there are kernels for such a weight, and for adapters of this rank, on their device."""
    slots = rows.slots
    if weight.device.type != "cuda" or not weight.is_contiguous() or slots.signals is None:
        return False
    of_bf16 = weight.dtype == slots.storage.dtype == torch.bfloat16
    return of_bf16 and slots.rank == RANK and rows.hidden is None


def program_of(
    source: str, name: str, device: torch.device, threads: int, shared_bytes: int, max_registers: int
) -> Program | None:
    """None where it does not compile: then the kernels around products do what it would."""
    try:
        return Program(source, name, device, threads, shared_bytes, max_registers)
    except RuntimeError:
        logger.exception("a kernel for products with adapters is not used")
        return None


def check_rows(x: Tensor, shape: tuple[int, int]) -> None:
    """The memory engine is told where rows lie, and would read or write beyond others. Raises ValueError."""
    if x.shape != shape or x.dtype != torch.bfloat16 or not x.is_contiguous():
        raise ValueError(f"rows {tuple(x.shape)} of {x.dtype} are not contiguous ones {shape} of bfloat16")


def read(*names: str) -> str:
    """Sources of this room, one behind the other."""
    return "\n".join((SOURCES / name).read_text() for name in names)


def product(name: str, columns: int, in_registers: bool = False) -> str:
    """A function for d [64, columns] += a b of 16 elements of K.

    a, b: where they lie in shared memory; or a is four registers.
    """
    count, names = columns // 2, ["a0", "a1", "a2", "a3"] if in_registers else ["a"]
    sums = ",".join(f"%{i}" for i in range(count))
    *numbers, b = (f"%{count + i}" for i in range(len(names) + 1))
    kind, letter = ("u32", "r") if in_registers else ("u64", "l")
    a, layouts = (f"{{{','.join(numbers)}}}", "0") if in_registers else (numbers[0], "0, 0")
    results = ",".join(f'"+f"(d[{i}])' for i in range(count))
    operands = ", ".join(f'"{letter}"({name})' for name in names)
    parameters = ", ".join(f"{kind} {name}" for name in names)
    return (
        f"DEVICE void {name}(float (&d)[{count}], {parameters}, u64 b) {{\n"
        f'  asm volatile("wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.bf16.bf16 {{{sums}}}, {a}, {b}, '
        f'1, 1, 1, {layouts};" : {results} : {operands}, "l"(b));\n}}'
    )
