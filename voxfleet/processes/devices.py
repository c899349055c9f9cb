"""Which device each worker of `voxfleet serve` gets: one GPU per worker where there are GPUs, else the CPU.

A worker on a GPU sees that GPU alone, through `CUDA_VISIBLE_DEVICES`; one that shares its model out over
several GPUs sees those. With four GPUs and
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

from engine.errors import NO_CUDA

COUNT_TIMEOUT_SECONDS = 120.0
SHARING_VARIABLE = "VOXFLEET_WORKER_WORKERS_ON_MACHINE"
RANKS_VARIABLE = "VOXFLEET_WORKER_TENSOR_PARALLEL_SIZE"
NO_GPU = f"--device cuda, but {NO_CUDA} (`voxfleet doctor` says more)"


class DeviceError(RuntimeError):
    """The device asked for is not there."""


@dataclass(frozen=True)
class Placement:
    """Where one worker runs: `--device` and what its environment needs for that."""

    device: str
    environment: Mapping[str, str] = field(default_factory=dict)


def place_workers(workers: int | str, device: str, gpus: list[str], each: int = 1) -> list[Placement]:
    """One placement per worker.

    `workers` is a number or "auto" (as many as there are devices for), `device` is cpu, cuda or auto, `gpus`
    are the visible GPUs as `CUDA_VISIBLE_DEVICES` names them, of which a worker gets `each`. Workers share
    GPUs where there are too few, but not those over which a model is shared out. Raises DeviceError when cuda
    is asked for and absent, or there are too few.
    """
    if device == "cuda" and not gpus:
        raise DeviceError(NO_GPU)
    if device != "cpu" and gpus:
        teams = teams_of(gpus, each)
        count = len(teams) if workers == "auto" else int(workers)
        if each > 1 and count > len(teams):
            raise DeviceError(
                f"{count} workers over {each} GPUs each: PyTorch sees {len(gpus)} CUDA devices here"
            )
        turns = [teams[i % len(teams)] for i in range(count)]
        return [on_team(turn) for turn in turns]
    count = 1 if workers == "auto" else int(workers)
    alone = Placement("cpu", {} if count == 1 else {SHARING_VARIABLE: str(count)})
    return [over_ranks(alone, each)] * count


def teams_of(gpus: list[str], each: int) -> list[list[str]]:
    """GPUs as workers of `each` get them: the first ones, the next ones and so on. Raises DeviceError where
    they are too few for one.
    """
    if each > len(gpus):
        raise DeviceError(f"a worker over {each} GPUs: PyTorch sees {len(gpus)} CUDA devices here")
    return [gpus[begin : begin + each] for begin in range(0, len(gpus) - each + 1, each)]


def on_team(gpus: list[str]) -> Placement:
    """A worker that sees these GPUs, and shares its model out over them where they are several."""
    return over_ranks(Placement("cuda", {"CUDA_VISIBLE_DEVICES": ",".join(gpus)}), len(gpus))


def over_ranks(placement: Placement, ranks: int, otherwise: int = 1) -> Placement:
    """The placement of a worker that shares its model out over `ranks` processes.

    otherwise: the number that it takes if its environment names none.
    """
    if ranks == otherwise == 1:
        return placement
    return Placement(placement.device, {**placement.environment, RANKS_VARIABLE: str(ranks)})


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
