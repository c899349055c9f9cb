"""How the kernels of this package are launched, decided in one place.

With programmatic dependent launch (Hopper and later) a kernel's programs start while the last programs of the
kernel before it still run, which hides launch latency. A kernel so launched must call `gdc_wait` before it
reads what an earlier kernel wrote and before it writes anything, and in every launch some program must call
it: that is what makes "the kernel before has finished" hold along a whole chain.

    kernel_on(x.device, kernel)[grid](x, out, BLOCK=1024, **launch_options(x.device))

where `def kernel(..., PDL: tl.constexpr)`. Triton launches on the current device, not on that of the tensors,
so nobody launches but through `kernel_on` (`tests/engine/device/test_devices.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import triton

from engine.device.devices import on_device

INTERPRETED = triton.knobs.runtime.interpret
"""Whether kernels run in Triton's interpreter (TRITON_INTERPRET=1), on tensors of any device."""
ASSEMBLY = not INTERPRETED
"""What kernels pass on as their constant ASSEMBLY; the interpreter runs none. A constant of a module that
functions of kernels read would give them other keys in Triton's cache by who met them first."""
FIRST_CAPABILITY = (9, 0)
MANY_PROGRAMS = 4096
"""From which on launching early costs more than it gains: those who wait take the place of those who work. On
an H200, 1,408 programs of `rms_norm` take 2.1 us early and 2.3 otherwise, 11,264 take 14.3 and 11.6."""


class kernel_on:
    """A Triton kernel as it is launched on `device`, whichever is the current one."""

    def __init__(self, device: torch.device, kernel: Any) -> None:
        self._device, self._kernel = device, kernel

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def launch(*args: Any, **options: Any) -> None:
            with on_device(self._device):
                self._kernel[grid](*args, **options)

        return launch


def pdl(device: torch.device) -> bool:
    """Whether kernels on `device` are launched before the kernel that precedes them has ended."""
    return not INTERPRETED and device.type == "cuda" and _capability(device) >= FIRST_CAPABILITY


def launch_options(device: torch.device, num_programs: int = 1) -> dict[str, bool]:
    """What every launch on `device` passes on: the constant PDL and, where it holds, the launch attribute.

    Short programs say how many they are, since many are not launched early.
    """
    early = num_programs < MANY_PROGRAMS and pdl(device)
    return {"PDL": True, "launch_pdl": True} if early else {"PDL": False}


@cache
def _capability(device: torch.device) -> tuple[int, int]:
    return torch.cuda.get_device_capability(device)
