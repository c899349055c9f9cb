"""A request on its way through the devices of a pool: one stream, whichever of them speaks."""

from __future__ import annotations

import weakref
from concurrent.futures import Future
from dataclasses import fields, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from engine.errors import EngineError
from engine.output_stream import Command, OutputStream, Reader, wake_or_cancel
from models.speech import SpeechOutput, SpeechRequest
from models.voxcpm.pool.adapter import PooledAdapter

MOST_LOST = 2
"""Devices under one request: a third is not given to it, since it may be what ends them."""


class Speaker(Protocol):
    """A device that can speak a request."""

    def submit(self, request: PooledRequest) -> None:
        """Speak what is missing of it. Raises DeviceLostError."""

    def cancel(self, request: PooledRequest) -> None:
        """Speak no more of it; never waits."""


class PooledRequest:
    """Holds what was given so far: where its device is lost, another one goes on from there.

    Attributes:
        stream: who asked reads it.
        accepted: once a device has taken the request, or raises why none does.
        adapter: with which all of it is spoken.
    """

    def __init__(self, request: SpeechRequest, adapter: PooledAdapter | None = None) -> None:
        self.stream = OutputStream(request.request_id, partial(_obey, weakref.ref(self)))
        self.accepted: Future[None] = Future()
        self.adapter = adapter
        self._request = request
        self._device: Speaker | None = None
        self._latents: list[np.ndarray] = []
        self._silence = request.resume_silence or (0, 0, request.resume_patches)
        self._lost = 0

    @property
    def request_id(self) -> str:
        return self._request.request_id

    def give_to(self, device: Speaker) -> None:
        """Have a device speak what is missing. Raises DeviceLostError where it is lost by now."""
        self._device = device
        device.submit(self)
        if self.stream.cancelled:  # while no device could be told
            device.cancel(self)

    def fields(self) -> dict[str, Any]:
        """The fields of the request to the next device: it continues what was spoken."""
        asked = self._request
        if self._latents:
            earlier = [] if asked.resume_latents is None else list(asked.resume_latents)
            latents = np.stack([*earlier, *self._latents])
            asked = replace(asked, resume_latents=latents, resume_silence=self._silence)
        told = {field.name: getattr(asked, field.name) for field in fields(asked)}
        return told | {"adapter": self.adapter.key if self.adapter else None}

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

    def take(self, output: SpeechOutput) -> list[Reader]:
        """What its device has made; see `OutputStream.put`."""
        if len(output.latents):
            self._latents.append(output.latents.copy())  # who reads them may write to them
            silent, lately, since = self._silence
            self._silence = (silent + 1, lately + 1, 0) if output.silent else (silent, 0, since + 1)
        return self.stream.put(output)

    def cancel(self) -> None:
        """Takes no lock: garbage collection may call it in the middle of anything."""
        if self._device is not None:
            self._device.cancel(self)


def _obey(request: weakref.ref[PooledRequest], stream: OutputStream, command: Command) -> None:
    """What was spoken, and its adapter, go with the request, however long its stream is held."""
    if command is not Command.CANCEL:
        raise EngineError(f"a pool has no {command.value}")
    if (found := request()) is not None:
        found.cancel()
