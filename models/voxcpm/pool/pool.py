"""What `VoxCPM` has in place of an engine and its loop where there are several devices."""

from __future__ import annotations

import threading
from dataclasses import fields
from pathlib import Path

import numpy as np

from engine.errors import DeviceLostError, EngineError
from engine.loop import CLOSED
from engine.output_stream import OutputStream
from models.lora.pool import AdapterInfo
from models.speech import AudioRole, ModelInfo, SpeechRequest
from models.voxcpm.pool.adapters import PooledAdapters
from models.voxcpm.pool.device import DeviceProcess


class DevicePool:
    """Requests go to the device on which the fewest run, of several the first. A part of a long text is one.

    A device that is lost takes its requests along, and the others go on. It is not started again.
    """

    def __init__(self, devices: list[DeviceProcess], info: ModelInfo) -> None:
        """devices: that have loaded. info: what they say of the model."""
        self.info = info
        self.adapters = PooledAdapters(self._serving)
        self._devices = devices
        self._choosing = threading.Lock()
        self._closed = False

    def submit(self, request: SpeechRequest) -> OutputStream:
        """See `engine.loop.EngineLoop.submit`; returns once the device has taken the request."""
        with self._choosing:
            device = self._idlest()
            stream = device.open(request.request_id)
        try:
            device.call(
                "submit", **{field.name: getattr(request, field.name) for field in fields(request)}
            ).result()
        except BaseException:
            device.drop(stream)
            raise
        return stream

    def encode_audio(self, samples: np.ndarray, sample_rate: int, role: AudioRole) -> np.ndarray:
        """See `models.speech.SpeechEngine`."""
        call = self._idlest().call("encode", samples=samples, sample_rate=sample_rate, role=role)
        return call.result()["latents"]

    def load_adapter(self, name: str, directory: Path) -> AdapterInfo:
        """See `models.voxcpm.engine.VoxCPMEngine`."""
        return self.adapters.load(name, directory)

    def close(self) -> None:
        """End all processes; open streams raise EngineError. Twice is a no-op."""
        self._closed = True
        for device in self._devices:
            device.end()
        for device in self._devices:
            device.close()

    def _idlest(self) -> DeviceProcess:
        return min(self._serving(), key=lambda device: device.load)

    def _serving(self) -> list[DeviceProcess]:
        if self._closed:
            raise EngineError(CLOSED)
        if serving := [device for device in self._devices if not device.lost]:
            return serving
        raise DeviceLostError("; ".join(str(device.error()) for device in self._devices))
