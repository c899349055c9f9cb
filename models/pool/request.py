"""A request on its way through the devices of a pool: one stream, whichever of them serves it."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol, TypeVar

from engine.errors import EngineError
from engine.output_stream import Command, OutputStream, Reader, wake_or_cancel

MOST_LOST = 2
"""Devices under one request: a third is not given to it, since it may be what ends them."""


Device = TypeVar("Device", bound="Server")


class Server(Protocol):
    """A device that can serve a request."""

    def submit(self, request: PooledRequest) -> None:
        """Serve what is missing of it. Raises DeviceLostError."""

    def cancel(self, request: PooledRequest) -> None:
        """Serve no more of it; never waits."""


class PooledRequest(ABC):
    """A family holds what was given so far: where the device is lost, another one goes on from there.

    Attributes:
        stream: who asked reads it.
        accepted: once a device has taken the request, or raises why none does.
    """

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.stream = OutputStream(request_id, partial(_obey, weakref.ref(self)))
        self.accepted: Future[None] = Future()
        self._device: Server | None = None
        self._lost = 0

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The fields of the request to the next device: it continues what was given."""

    @abstractmethod
    def take(self, record: Mapping[str, Any]) -> list[Reader]:
        """What its device has made; see `OutputStream.put`."""

    def able(self, devices: list[Device]) -> list[Device]:
        """Those of them that can serve it. Raises DeviceLostError where none can."""
        return devices

    def give_to(self, device: Server) -> None:
        """Have a device serve what is missing. Raises DeviceLostError where it is lost by now."""
        self._device = device
        device.submit(self)
        if self.stream.cancelled:  # while no device could be told
            device.cancel(self)

    def may_move(self) -> bool:
        """Whether another device may have it, now that its own is lost."""
        self._lost += 1
        return self._lost < MOST_LOST

    def accept(self) -> None:
        """A device has taken it, the first or one after that."""
        if not self.accepted.done():
            self.accepted.set_result(None)

    def fail(self, error: Exception) -> None:
        """No device goes on with it: whoever waits for it or reads it is told why."""
        if not self.accepted.done():
            self.accepted.set_exception(error)
        wake_or_cancel(self.stream.end(error))

    def cancel(self) -> None:
        """Takes no lock: garbage collection may call it in the middle of anything."""
        if self._device is not None:
            self._device.cancel(self)


def _obey(request: weakref.ref[PooledRequest], stream: OutputStream, command: Command) -> None:
    """What was given goes with the request, however long its stream is held."""
    if command is not Command.CANCEL:
        raise EngineError(f"a pool has no {command.value}")
    if (found := request()) is not None:
        found.cancel()
