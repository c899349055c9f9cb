"""Which device each worker of `voxfleet serve` gets: one GPU per worker where there are GPUs, else the CPU.

A worker on a GPU sees that GPU alone, through `CUDA_VISIBLE_DEVICES`. With four GPUs and
`CUDA_VISIBLE_DEVICES=2,3` in the environment, two workers are planned, one sees "2" and the other "3".
Counting asks PyTorch in a process of its own, since the supervisor itself never loads it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

COUNT_TIMEOUT_SECONDS = 120.0
SHARING_VARIABLE = "VOXFLEET_WORKER_WORKERS_ON_MACHINE"
NO_GPU = "--device cuda, but PyTorch sees no CUDA device here (`voxfleet doctor` says more)"


class DeviceError(RuntimeError):
    """The device asked for is not there."""


@dataclass(frozen=True)
class Placement:
    """Where one worker runs: `--device` and what its environment needs for that."""

    device: str
    environment: Mapping[str, str] = field(default_factory=dict)


def place_workers(workers: int | str, device: str, gpus: list[str]) -> list[Placement]:
    """One placement per worker.

    `workers` is a number or "auto" (as many as there are devices), `device` is cpu, cuda or auto, `gpus` are
    the visible GPUs as `CUDA_VISIBLE_DEVICES` names them. Raises DeviceError when cuda is asked for and
    absent.
    """
    if device == "cuda" and not gpus:
        raise DeviceError(NO_GPU)
    if device != "cpu" and gpus:
        count = len(gpus) if workers == "auto" else int(workers)
        return [Placement("cuda", {"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)]}) for i in range(count)]
    count = 1 if workers == "auto" else int(workers)
    return [Placement("cpu", {} if count == 1 else {SHARING_VARIABLE: str(count)})] * count


def ensure_present(device: str) -> None:
    """Raises DeviceError when cuda is asked for and absent."""
    if device == "cuda" and not visible_gpus():
        raise DeviceError(NO_GPU)


def visible_gpus() -> list[str]:
    """The GPUs that PyTorch can use, each as a value for `CUDA_VISIBLE_DEVICES`; empty without a driver."""
    if not any(Path(node).exists() for node in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")):
        return []
    result = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"],
        capture_output=True,
        text=True,
        timeout=COUNT_TIMEOUT_SECONDS,
        check=False,
    )
    count = int(result.stdout.strip() or 0) if result.returncode == 0 else 0
    return name_gpus(count, os.environ.get("CUDA_VISIBLE_DEVICES", ""))


def name_gpus(count: int, visible: str) -> list[str]:
    """The first `count` names of a `CUDA_VISIBLE_DEVICES` (numbers or UUIDs), or plain numbers where it is
    empty.
    """
    names = [name.strip() for name in visible.split(",") if name.strip()]
    return names[:count] if names else [str(index) for index in range(count)]
