"""A kernel that writes far beyond its tensor: the device refuses all that comes after it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from engine.kernels.launch import kernel_on

FAR = 1 << 46
"""Elements: beyond every address that a device has."""


@triton.jit
def write_nowhere_kernel(out, offset):
    tl.store(out + offset, 1.0)


def write_nowhere(device: torch.device) -> None:
    """Returns at once; the error comes with a later call."""
    out = torch.zeros(1, device=device)
    kernel_on(device, write_nowhere_kernel)[(1,)](out, FAR)
