"""A request to speak, whichever device of a pool does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from engine.errors import DeviceLostError
from engine.output_stream import Reader
from models.pool.request import Device, PooledRequest
from models.speech import SpeechOutput, SpeechRequest
from models.voxcpm.pool.adapter import PooledAdapter


class PooledSpeech(PooledRequest):
    """Holds the latents so far. adapter: with which all of it is spoken."""

    def __init__(self, request: SpeechRequest, adapter: PooledAdapter | None = None) -> None:
        super().__init__(request.request_id)
        self.adapter = adapter
        self._request = request
        self._latents: list[np.ndarray] = []
        self._silence = request.resume_silence or (0, 0, request.resume_patches)

    def fields(self) -> dict[str, Any]:
        asked = self._request
        if self._latents:
            earlier = [] if asked.resume_latents is None else list(asked.resume_latents)
            latents = np.stack([*earlier, *self._latents])
            asked = replace(asked, resume_latents=latents, resume_silence=self._silence)
        told = {field.name: getattr(asked, field.name) for field in fields(asked)}
        return told | {"adapter": self.adapter.key if self.adapter else None}

    def take(self, record: Mapping[str, Any]) -> list[Reader]:
        output = SpeechOutput(**record)
        if len(output.latents):
            self._latents.append(output.latents.copy())  # who reads them may write to them
            silent, lately, since = self._silence
            self._silence = (silent + 1, lately + 1, 0) if output.silent else (silent, 0, since + 1)
        return self.stream.put(output)

    def able(self, devices: list[Device]) -> list[Device]:
        """Those that have the adapter."""
        if self.adapter is None:
            return devices
        if found := [device for device in devices if device in self.adapter.devices]:
            return found
        raise DeviceLostError("no device has the adapter any more that the text began with")
