"""Adapters for the small V2 checkpoint as a client sends them, and what the Python API speaks with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np

from models.lora.files import write_adapter
from models.voxcpm import VoxCPM
from tests.models.lora.conftest import CHECKPOINT, LORA, random_adapter

TEXT = "hello world again"
CLIP = {"seed": 3, "min_seconds": 0.2, "max_seconds": 0.2}
CLOSE = 3
"""Steps of 16 bits: another batch rounds differently."""
CONSENT = {"consent_by": "Ann Example", "consent_statement": "I agree."}
WORKER = {"model": str(CHECKPOINT), "device": "cpu", "slots": 4}


@dataclass(frozen=True)
class Trained:
    """An adapter in its folder."""

    folder: Path

    def upload(self, http: httpx.Client, name: str, **fields: Any) -> httpx.Response:
        weights = (self.folder / "lora_weights.safetensors").read_bytes()
        config = (self.folder / "lora_config.json").read_text()
        form = {"name": name, "config": config, **CONSENT, **fields}
        return http.post(
            "/api/adapters",
            data={key: value for key, value in form.items() if value is not None},
            files={"weights": ("lora_weights.safetensors", weights)},
        )

    def create(self, http: httpx.Client, name: str, **fields: Any) -> dict[str, Any]:
        response = self.upload(http, name, **fields)
        assert response.status_code == 201, response.text
        return response.json()


def trained(folder: Path, seed: int, rank: int = 4) -> Trained:
    write_adapter(folder, random_adapter(seed, rank), {**LORA, "r": rank})
    return Trained(folder)


def weights(seed: int) -> bytes:
    """The file of one, of rank 4."""
    with TemporaryDirectory() as folder:
        adapter = trained(Path(folder), seed)
        return (adapter.folder / "lora_weights.safetensors").read_bytes()


def python_clips(adapters: dict[str, Trained], text: str = TEXT, **clip: Any) -> dict[str, np.ndarray]:
    """int samples [n] of `generate(lora=name)`; of "" without."""
    with VoxCPM.from_pretrained(str(CHECKPOINT)) as voice:
        for name, adapter in adapters.items():
            voice.load_lora(adapter.folder, name)
        clips = {name: voice.synthesize(text, lora=name, **{**CLIP, **clip}) for name in ("", *adapters)}
    return {name: np.rint(clip * 32767).clip(-32768, 32767).astype(int) for name, clip in clips.items()}


def samples(pcm: bytes) -> np.ndarray:
    return np.frombuffer(pcm, "<i2").astype(int)


def is_close(pcm: bytes, expected: np.ndarray) -> bool:
    found = samples(pcm)
    return found.shape == expected.shape and np.abs(found - expected).max() <= CLOSE
