"""What a model in Python has in place of an engine and its loop where there are several devices."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from engine import forks
from engine.errors import DeviceLostError, EngineError
from engine.loop import CLOSED
from engine.output_stream import OutputStream, wake_or_cancel
from models.pool.device import DeviceProcess
from models.pool.member import DeviceState, Member
from models.pool.request import PooledRequest
from models.pool.wire import Record


class Pool:
    """Requests go to the device on which the fewest run, of several the first.

    What runs on a device that is lost goes on on another one, while that one is started again.
    """

    def __init__(self, devices: list[Member], info: Record) -> None:
        """devices: whose processes have loaded. info: what they say of the model."""
        self._devices = devices
        self._choosing = threading.Lock()
        self._closed = ""
        self._at_end: SimpleQueue[Callable[[], object]] = SimpleQueue()
        threading.Thread(target=lambda: self._at_end.get()(), name="pool-end", daemon=True).start()
        forks.watch(self)
        for device in devices:
            device.begin(info, self._join, self._move)

    @property
    def devices(self) -> list[DeviceState]:
        """How each of them is."""
        return [device.state for device in self._devices]

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

    def _join(self, device: DeviceProcess, serve: Callable[[], object]) -> None:
        """See `Join`: the others have nothing that they did not load with."""
        serve()

    def _taken(self, request: PooledRequest) -> OutputStream:
        """The stream of a request that a device has taken by then. Raises what refuses it."""
        self._give(request)
        try:
            request.accepted.result()
        except BaseException:
            request.stream.cancel()
            raise
        return request.stream

    def _give(self, request: PooledRequest) -> None:
        """Raises EngineError where no device serves."""
        with self._choosing:
            while True:
                device = idlest(request.able(self._serving()))
                try:
                    return request.give_to(device)
                except DeviceLostError:
                    continue  # since it was chosen; it is chosen no more

    def _move(self, requests: list[PooledRequest], lost: EngineError) -> None:
        """What ran on a device that is lost goes on elsewhere, where nobody notices a difference."""
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

    def _serving(self) -> list[DeviceProcess]:
        if self._closed:
            raise EngineError(self._closed)
        if serving := [device.process for device in self._devices if device.serves]:
            return serving
        raise DeviceLostError("; ".join(device.problem for device in self._devices))


def idlest(devices: list[DeviceProcess]) -> DeviceProcess:
    """The one on which the fewest run, of several the first."""
    return min(devices, key=lambda process: process.load)
