"""Starts the processes of a pool, which load at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from engine.cpu.cpus import thread_limit
from engine.device.devices import select_devices
from engine.errors import OptionsError
from models.speech import ModelInfo
from models.voxcpm.checkpoint import Progress, resolve_model
from models.voxcpm.loading import choose_options
from models.voxcpm.pool.device import DeviceProcess
from models.voxcpm.pool.member import Launch, Member
from models.voxcpm.pool.pool import DevicePool

Event = tuple[DeviceProcess, str, float]
_LOADED = "loaded"


def load_pool(
    model: str | Path,
    devices: Sequence[str | int],
    max_num_seqs: int = 8,
    progress: Progress | None = None,
    cpu_weights: str = "float32",
    **options: Any,
) -> DevicePool:
    """An engine on each of `devices`, which all get the same options, those of `load_engine`.

    progress: of the slowest, told in this thread. threads: of a device; where nobody says, CPUs share those
    of the machine. Raises OptionsError before anything is started, then what one of them raises.
    """
    chosen = select_devices(devices)
    if options.pop("tensor_parallel_size", 1) != 1:
        raise OptionsError("devices have an engine each: with them tensor_parallel_size is 1")
    choose_options(chosen[0].type, max_num_seqs, **options)
    directory = str(resolve_model(model, progress).absolute())
    threads = None
    if chosen[0].type == "cpu":
        threads = options["threads"] = options.get("threads") or thread_limit(len(chosen))
    told = {"model": directory, "max_num_seqs": max_num_seqs, "cpu_weights": cpu_weights, **options}
    launches = []
    for number, device in enumerate(chosen, start=1):
        alike = f" ({number} of {len(chosen)})" if chosen.count(device) > 1 else ""
        launches.append(Launch(str(device), alike, threads, told))
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
    return DevicePool([Member(*pair) for pair in zip(launches, started, strict=True)], info)


def _load_all(
    launches: list[Launch],
    processes: list[DeviceProcess],
    events: SimpleQueue[Event],
    progress: Progress | None,
) -> ModelInfo:
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
    return ModelInfo.from_dict(calls[processes[0]].result()["info"])
