"""Starts the processes of a pool, which load at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

from engine.cpu.cpus import thread_limit
from engine.device.devices import select_devices
from engine.errors import OptionsError
from models.speech import ModelInfo
from models.voxcpm.checkpoint import Progress, resolve_model
from models.voxcpm.loading import choose_options
from models.voxcpm.pool.device import DeviceProcess
from models.voxcpm.pool.pool import DevicePool

Event = tuple[DeviceProcess, str, float]
_LOADED = "loaded"


def load_pool(
    model: str,
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
    events: SimpleQueue[Event] = SimpleQueue()
    started: list[DeviceProcess] = []
    try:
        for number, device in enumerate(chosen, start=1):
            alike = f" ({number} of {len(chosen)})" if chosen.count(device) > 1 else ""
            started.append(DeviceProcess(str(device), alike, lambda *event: events.put(event)))
        info = _load_all(started, told, threads, events, progress)
    except BaseException:
        for device in started:
            device.end(at_once=True)
        for device in started:
            device.close()
        raise
    return DevicePool(started, info)


def _load_all(
    devices: list[DeviceProcess],
    told: dict[str, Any],
    threads: int | None,
    events: SimpleQueue[Event],
    progress: Progress | None,
) -> ModelInfo:
    """What they say of the model once all have loaded it. Raises what one raises."""
    calls = {}
    for device in devices:
        calls[device] = device.call("load", threads=threads, options={**told, "device": device.device})
        calls[device].add_done_callback(lambda _, device=device: events.put((device, _LOADED, 1.0)))
    shares, loading = dict.fromkeys(devices, 0.0), set(devices)
    while loading:
        device, stage, shares[device] = events.get()
        if stage == _LOADED:
            loading.remove(device)
            if (error := calls[device].exception()) is not None:
                error.add_note(f"on device {device.name}")
                raise error
        elif progress is not None:
            progress(stage, min(shares.values()))
    return ModelInfo.from_dict(calls[devices[0]].result()["info"])
