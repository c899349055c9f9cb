"""The inside of a device's process that speaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from engine.parallel.follower import Follower
from models.pool.serving import Serving
from models.pool.wire import Record
from models.speech import AudioRole, SpeechOutput, SpeechRequest
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine


class SpeechServing(Serving):
    """See `Serving`; it encodes recordings and keeps adapters, too."""

    _engine: VoxCPMEngine

    def __init__(self, follower: Follower) -> None:
        super().__init__(follower)
        self._adapters_before: dict[str, Any] = {}
        self._calls |= {"encode": self._encode, "change": self._change, "settle": self._settle}
        changing = self.threads(1, "adapters")
        self._beside |= {"encode": self.threads(2, "encode"), "change": changing, "settle": changing}

    def load_engine(self, progress: Callable[[str, float], None], options: Record) -> tuple[Any, Record]:
        engine = load_engine(progress=progress, **options)
        return engine, engine.info.to_dict()

    def request(self, fields: dict[str, Any]) -> SpeechRequest:
        request = SpeechRequest(**fields)
        if request.adapter is not None:
            request.adapter = self._kept[request.adapter]
        return request

    def output(self, output: SpeechOutput) -> Record:
        return vars(output)

    def _encode(self, samples: np.ndarray, sample_rate: int, role: AudioRole) -> Record:
        return {"latents": self._engine.encode_audio(samples, sample_rate, role)}

    def _change(self, change: str, **fields: Any) -> Record:
        """Change the adapters, until `_settle`."""
        adapters = self._engine.adapters
        self._adapters_before = adapters.held()
        if change == "load":
            self._engine.load_adapter(fields["name"], Path(fields["directory"]))
            self._kept[fields["key"]] = adapters.get(fields["name"])
        elif change == "remove":
            adapters.remove(**fields)
        elif change == "enable":
            adapters.enable(**fields)
        else:
            adapters.clear()
        return {"listed": [asdict(info) for info in adapters.listed()]}

    def _settle(self, undo: bool) -> Record:
        if undo:
            self._engine.adapters.put_back(self._adapters_before)
        self._adapters_before = {}
        return {}
