"""What `VoxCPM` has in place of an engine and its loop where there are several devices."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from engine.errors import DeviceLostError
from engine.output_stream import OutputStream
from models.lora.pool import AdapterInfo
from models.pool.device import DeviceProcess
from models.pool.member import Member
from models.pool.pool import Pool, idlest
from models.pool.request import MOST_LOST
from models.pool.wire import Record
from models.speech import AudioRole, ModelInfo, SpeechRequest
from models.voxcpm.pool.adapters import PooledAdapters
from models.voxcpm.pool.request import PooledSpeech


class DevicePool(Pool):
    """See `Pool`. A part of a long text is a request."""

    def __init__(self, devices: list[Member], info: Record) -> None:
        self.info = ModelInfo.from_dict(dict(info))
        self.adapters = PooledAdapters(self._serving)
        super().__init__(devices, info)

    def submit(self, request: SpeechRequest) -> OutputStream:
        """See `engine.loop.EngineLoop.submit`; returns once a device has taken the request."""
        adapter = None if request.adapter is None else self.adapters.get(request.adapter)
        return self._taken(PooledSpeech(request, adapter))

    def encode_audio(self, samples: np.ndarray, sample_rate: int, role: AudioRole) -> np.ndarray:
        """See `models.speech.SpeechEngine`."""
        asked = {"samples": samples, "sample_rate": sample_rate, "role": role}
        for _ in range(MOST_LOST - 1):
            with suppress(DeviceLostError):
                return self._encoded(**asked)
        return self._encoded(**asked)

    def _encoded(self, **asked: object) -> np.ndarray:
        return idlest(self._serving()).call("encode", **asked).result()["latents"]

    def load_adapter(self, name: str, directory: Path) -> AdapterInfo:
        """See `models.voxcpm.engine.VoxCPMEngine`."""
        return self.adapters.load(name, directory)

    def _join(self, device: DeviceProcess, serve: Callable[[], object]) -> None:
        self.adapters.join(device, serve)
