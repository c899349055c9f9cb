"""Starts the processes of a pool that speaks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from models.pool.loading import choose_devices, load_members
from models.voxcpm.checkpoint import Progress, resolve_model
from models.voxcpm.loading import choose_options
from models.voxcpm.pool.pool import DevicePool


def load_pool(
    model: str | Path,
    devices: Sequence[str | int],
    max_num_seqs: int = 8,
    progress: Progress | None = None,
    cpu_weights: str = "float32",
    device: str = "auto",
    **options: Any,
) -> DevicePool:
    """An engine on each of `devices`, which all get the same options, those of `load_engine`.

    progress: of the slowest, told in this thread. threads: of a device; where nobody says, CPUs share those
    of the machine. Raises OptionsError before anything is started, then what one of them raises.
    """
    chosen = choose_devices(devices, device, options.pop("tensor_parallel_size", 1))
    choose_options(chosen[0].type, max_num_seqs, **options)
    directory = str(resolve_model(model, progress).absolute())
    told = {"model": directory, "max_num_seqs": max_num_seqs, "cpu_weights": cpu_weights, **options}
    return DevicePool(*load_members(chosen, "models.voxcpm.pool.child", told, progress))
