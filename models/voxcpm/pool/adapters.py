"""The adapters of all devices: a change is made on all of them or on none, and who comes later gets them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from itertools import count
from pathlib import Path
from typing import Any

from engine.errors import DeviceLostError, EngineError
from models.lora.pool import AdapterInfo, find_form, usable_form
from models.pool.device import DeviceProcess
from models.pool.wire import Record
from models.voxcpm.pool.adapter import PooledAdapter


class PooledAdapters:
    """The adapters of all devices, with the methods of `AdapterPool` that `VoxCPM` needs.

    devices: gives those that serve, and raises EngineError where there is none.
    """

    def __init__(self, devices: Callable[[], list[DeviceProcess]]) -> None:
        self._devices = devices
        self._changing = threading.Lock()
        self._keys = count()
        self._adapters: dict[str, tuple[AdapterInfo, PooledAdapter]] = {}

    def load(self, name: str, directory: Path) -> AdapterInfo:
        """Raises as `VoxCPMEngine.load_adapter` does."""
        with self._changing:
            adapter = PooledAdapter(next(self._keys), directory, self._devices())
            self._change("load", {name: adapter}, name=name, directory=adapter.directory, key=adapter.key)
            return self._adapters[name][0]

    def remove(self, name: str) -> bool:
        """False when there is none of that name."""
        with self._changing:
            if found := name in self._adapters:
                self._change("remove", name=name)
            return found

    def enable(self, enabled: bool, name: str | None = None) -> None:
        """Raises RequestError for an unknown name."""
        with self._changing:
            self._change("enable", enabled=enabled, name=name)

    def clear(self) -> None:
        with self._changing:
            self._change("clear")

    def listed(self) -> list[AdapterInfo]:
        return [info for info, _ in self._adapters.values()]

    def find(self, name: str) -> PooledAdapter | None:
        """See `AdapterPool`."""
        return find_form(self._adapters, name)

    def get(self, name: str | PooledAdapter) -> PooledAdapter:
        """See `AdapterPool`."""
        return usable_form(self._adapters, name) if isinstance(name, str) else name

    def join(self, device: DeviceProcess, serve: Callable[[], object]) -> None:
        """Give one that has loaded the adapters of the others, then let it `serve`, before the next change.

        Raises what loading one raises, EngineError where its files hold another one by now.
        """
        with self._changing:
            for name, (info, adapter) in self._adapters.items():
                _changed(device, "load", name=name, directory=adapter.directory, key=adapter.key)
                listed = _changed(device, "enable", enabled=info.enabled, name=name)
                if AdapterInfo(**listed[-1]) != info:
                    raise EngineError(f"{adapter.directory} holds another adapter than {name!r} by now")
                adapter.join(device)
            serve()

    def _change(self, change: str, new: dict[str, PooledAdapter] | None = None, **fields: Any) -> None:
        """On all devices. What is raised on one undoes it on the others; one that is lost is none."""
        devices = self._devices()
        calls = [device.call("change", change=change, **fields) for device in devices]
        done = False
        try:
            listed = _first_result(calls)["listed"]
            done = True
        finally:
            wait([device.call("settle", undo=not done) for device in devices])
        known = {name: adapter for name, (_, adapter) in self._adapters.items()} | (new or {})
        self._adapters = {info["name"]: (AdapterInfo(**info), known[info["name"]]) for info in listed}


def _changed(device: DeviceProcess, change: str, **fields: Any) -> list[dict[str, Any]]:
    """What one device has after a change that stays."""
    listed = device.call("change", change=change, **fields).result()["listed"]
    device.call("settle", undo=False).result()
    return listed


def _first_result(calls: list[Future[Record]]) -> Record:
    """Once all are there. Raises what one raised."""
    wait(calls)
    errors = [error for call in calls if (error := call.exception()) is not None]
    lost = [error for error in errors if isinstance(error, DeviceLostError)]
    for error in errors:
        if error not in lost or len(lost) == len(calls):
            raise error
    return next(call.result() for call in calls if call.exception() is None)
