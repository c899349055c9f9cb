"""What `VoxCPM` has in place of an engine and its loop where there are several devices."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from engine import forks
from engine.errors import DeviceLostError, EngineError
from engine.loop import CLOSED
from engine.output_stream import OutputStream, wake_or_cancel
from models.lora.pool import AdapterInfo
from models.speech import AudioRole, ModelInfo, SpeechRequest
from models.voxcpm.pool.adapter import PooledAdapter
from models.voxcpm.pool.adapters import PooledAdapters
from models.voxcpm.pool.device import DeviceProcess
from models.voxcpm.pool.member import DeviceState, Member
from models.voxcpm.pool.request import MOST_LOST, PooledRequest


class DevicePool:
    """Requests go to the device on which the fewest run, of several the first. A part of a long text is one.

    What runs on a device that is lost goes on on another one, while that one is started again.
    """

    def __init__(self, devices: list[Member], info: ModelInfo) -> None:
        """devices: whose processes have loaded. info: what they say of the model."""
        self.info = info
        self.adapters = PooledAdapters(self._serving)
        self._devices = devices
        self._choosing = threading.Lock()
        self._closed = ""
        self._at_end: SimpleQueue[Callable[[], object]] = SimpleQueue()
        threading.Thread(target=lambda: self._at_end.get()(), name="pool-end", daemon=True).start()
        forks.watch(self)
        for device in devices:
            device.begin(info, self.adapters, self._move)

    @property
    def devices(self) -> list[DeviceState]:
        """How each of them is."""
        return [device.state for device in self._devices]

    def submit(self, request: SpeechRequest) -> OutputStream:
        """See `engine.loop.EngineLoop.submit`; returns once a device has taken the request."""
        adapter = None if request.adapter is None else self.adapters.get(request.adapter)
        pooled = PooledRequest(request, adapter)
        self._give(pooled)
        try:
            pooled.accepted.result()
        except BaseException:
            pooled.stream.cancel()
            raise
        return pooled.stream

    def encode_audio(self, samples: np.ndarray, sample_rate: int, role: AudioRole) -> np.ndarray:
        """See `models.speech.SpeechEngine`."""
        asked = {"samples": samples, "sample_rate": sample_rate, "role": role}
        for _ in range(MOST_LOST - 1):
            with suppress(DeviceLostError):
                return self._idlest().call("encode", **asked).result()["latents"]
        return self._idlest().call("encode", **asked).result()["latents"]

    def load_adapter(self, name: str, directory: Path) -> AdapterInfo:
        """See `models.voxcpm.engine.VoxCPMEngine`."""
        return self.adapters.load(name, directory)

    def leave(self, at_end: Callable[[], object]) -> None:
        """Have a thread of its own call this, soon; never waits, so garbage collection may call it."""
        self._at_end.put(at_end)

    def close(self) -> None:
        """End all processes; open streams raise EngineError. Twice is a no-op."""
        self._closed = self._closed or CLOSED
        self.leave(lambda: None)
        for device in self._devices:
            device.end()
        for device in self._devices:
            device.close()

    def forked(self) -> None:
        """See `engine.forks`: the processes belong to another one."""
        self._closed, self._choosing = forks.FORKED, threading.Lock()
        for device in self._devices:
            device.process.forked()
        self._devices = []

    def _give(self, request: PooledRequest) -> None:
        """Raises EngineError where no device serves."""
        with self._choosing:
            while True:
                device = self._idlest(request.adapter)
                try:
                    return request.give_to(device)
                except DeviceLostError:
                    continue  # since it was chosen; it is chosen no more

    def _move(self, requests: list[PooledRequest], lost: EngineError) -> None:
        """What ran on a device that is lost goes on elsewhere, where nobody hears a difference."""
        for request in requests:
            if request.stream.cancelled:
                wake_or_cancel(request.stream.end())
            elif not request.may_move():
                request.fail(lost)
            else:
                try:
                    self._give(request)
                except Exception as error:
                    request.fail(error)

    def _idlest(self, adapter: PooledAdapter | None = None) -> DeviceProcess:
        """Of those that have the adapter."""
        serving = self._serving()
        if adapter is not None and not (serving := [found for found in serving if found in adapter.devices]):
            raise DeviceLostError("no device has the adapter any more that the text began with")
        return min(serving, key=lambda process: process.load)

    def _serving(self) -> list[DeviceProcess]:
        if self._closed:
            raise EngineError(self._closed)
        if serving := [device.process for device in self._devices if device.serves]:
            return serving
        raise DeviceLostError("; ".join(device.problem for device in self._devices))
