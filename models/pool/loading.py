"""Starts the processes of a pool, which load at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import torch

from engine.cpu.cpus import thread_limit
from engine.device.devices import select_devices
from engine.errors import OptionsError
from models.pool.device import DeviceProcess
from models.pool.member import Launch, Member
from models.pool.wire import Record

Progress = Callable[[str, float], object]
Event = tuple[DeviceProcess, str, float]
_LOADED = "loaded"


def choose_devices(
    devices: Sequence[str | int], device: str, tensor_parallel_size: int
) -> list[torch.device]:
    """Each of `devices`, beside which the other two options say nothing. Raises OptionsError."""
    if device != "auto":
        raise OptionsError(f"device {device!r} and devices {devices!r}: give one of them")
    chosen = select_devices(devices)
    if tensor_parallel_size != 1:
        raise OptionsError("devices have an engine each: with them tensor_parallel_size is 1")
    return chosen


def load_members(
    devices: list[torch.device], child: str, options: dict[str, Any], progress: Progress | None
) -> tuple[list[Member], Record]:
    """One on each device, and what they say of the model once all have loaded.

    child: the module that each process runs. options: what each is told, with its device; on CPUs that share
    a machine with `threads`, where they name none. progress: of the slowest, told in this thread. Raises what
    one of them raises.
    """
    threads = None
    if devices[0].type == "cpu":
        threads = options.get("threads") or thread_limit(len(devices))
        options = {**options, "threads": threads}
    launches = []
    for number, device in enumerate(devices, start=1):
        alike = f" ({number} of {len(devices)})" if devices.count(device) > 1 else ""
        launches.append(Launch(str(device), alike, child, threads, options))
    events: SimpleQueue[Event] = SimpleQueue()
    started: list[DeviceProcess] = []
    try:
        for launch in launches:
            started.append(launch.start(lambda *event: events.put(event)))
        info = _load_all(launches, started, events, progress)
    except BaseException:
        for process in started:
            process.end(at_once=True)
        for process in started:
            process.close()
        raise
    return [Member(*pair) for pair in zip(launches, started, strict=True)], info


def _load_all(
    launches: list[Launch],
    processes: list[DeviceProcess],
    events: SimpleQueue[Event],
    progress: Progress | None,
) -> Record:
    """What they say of the model once all have loaded it. Raises what one raises."""
    calls = {}
    for launch, process in zip(launches, processes, strict=True):
        calls[process] = launch.load(process)
        calls[process].add_done_callback(lambda _, process=process: events.put((process, _LOADED, 1.0)))
    shares, loading = dict.fromkeys(processes, 0.0), set(processes)
    while loading:
        process, stage, shares[process] = events.get()
        if stage == _LOADED:
            loading.remove(process)
            if (error := calls[process].exception()) is not None:
                error.add_note(f"on device {process.name}")
                raise error
        elif progress is not None:
            progress(stage, min(shares.values()))
    return calls[processes[0]].result()["info"]
