"""The device that a benchmark runs on, or why it cannot run there."""

from __future__ import annotations

import torch

FIRST_CAPABILITY = (8, 0)
"""Ampere's. GPUs before it have no bf16, and less shared memory than the audio decoder's tiles take."""


def device_of(name: str = "cuda") -> torch.device:
    """The device called `name`, made the current one, on which Triton launches.

    Raises SystemExit with the reason where it cannot serve.
    """
    device = torch.device(name)
    if device.type != "cuda":
        return device
    if not torch.cuda.is_available():
        raise SystemExit(f"this machine has no CUDA device that torch {torch.__version__} can use")
    count = torch.cuda.device_count()
    if (device.index or 0) >= count:
        raise SystemExit(f"there is no {name}: this machine has {count} CUDA devices")
    capability = torch.cuda.get_device_capability(device)
    if capability < FIRST_CAPABILITY:
        wanted, found = (".".join(map(str, pair)) for pair in (FIRST_CAPABILITY, capability))
        raise SystemExit(f"{torch.cuda.get_device_name(device)} has compute capability {found}, not {wanted}")
    if device.index is not None:
        torch.cuda.set_device(device)
    return device
