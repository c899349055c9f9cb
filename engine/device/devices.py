"""A device: chosen, made current while something is launched on it, and asked whether it still computes.

    with on_device(device):
        kernel[grid](...)              # on `device`, whichever the thread's current device is outside
    check_device(device)               # after a step that failed

PyTorch's operators go to the device of their tensors. Triton's launches, new events and recorded graphs go to
the current one, which is the first GPU in a thread that has not chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib.util import find_spec

import torch

from engine.errors import NO_CUDA, DeviceLostError, OptionsError


def on_device(device: torch.device) -> AbstractContextManager[object]:
    """Makes `device` the current one of this thread within."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def check_device(device: torch.device) -> None:
    """Lets `device` compute something small, and waits for it and all that it does.

    Memory that has run out is no lost device. Raises DeviceLostError.
    """
    try:
        with suppress(torch.OutOfMemoryError):
            torch.ones(1, device=device).add_(1)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise DeviceLostError(f"the device {device} computes no more: {reason}") from error


def select_device(device: str | int | torch.device) -> torch.device:
    """ "auto" is the first CUDA device, else the CPU. A CUDA device without an index is the current one; a
    number is that of a CUDA device.

    Raises OptionsError for any other one, and for CUDA where there is none.
    """
    whole = isinstance(device, int) and not isinstance(device, bool)
    name = f"cuda:{device}" if whole else str(device)
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise OptionsError(f"there is no device {device!r}, only 'auto', 'cpu', 'cuda', 'cuda:N' and numbers")
    if name == "auto":
        name = "cuda:0" if torch.cuda.is_available() else "cpu"
    chosen = torch.device(name)
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise OptionsError(f"device {name}, but {NO_CUDA}")
    if chosen.type == "cuda" and chosen.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    if chosen.type == "cuda" and chosen.index >= (count := torch.cuda.device_count()):
        raise OptionsError(f"device {name}, but PyTorch sees {count} CUDA devices here")
    return chosen


def select_devices(devices: Sequence[str | int]) -> list[torch.device]:
    """Each of `devices`, all of one kind, see `select_device`. Raises OptionsError."""
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        raise OptionsError(f"devices are a list, such as [0, 1] or ['cuda:0', 'cuda:1'], got {devices!r}")
    chosen = [select_device(device) for device in devices]
    if len({device.type for device in chosen}) > 1:
        raise OptionsError(f"devices are of one kind, got {', '.join(map(str, devices))}")
    return chosen


def free_bytes(device: torch.device) -> int | None:
    """Memory of a GPU that no process has taken; None for other devices."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None


def runs_triton(device: torch.device) -> bool:
    """Whether forms of a model that are Triton kernels run on `device`: on CUDA where Triton is, which not
    every system has."""
    return device.type == "cuda" and find_spec("triton") is not None


def default_dtype(device: torch.device) -> torch.dtype:
    """The dtype that transformers compute in by default: fp32 on a CPU, bf16 elsewhere."""
    return torch.float32 if device.type == "cpu" else torch.bfloat16
