"""The small V2 checkpoint and an engine factory, shared by the tests of the model glue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.attention.selection import BACKENDS
from engine.programs import catalogue
from models.speech import SpeechOutput, SpeechRequest
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.vae.streaming_vae import StreamingDecoder
from tests.conftest import hasten_kernels
from tests.engine.attention.static import StaticBackend
from tests.models.layers import built_once

hasten_kernels()
CHECKPOINTS = Path(__file__).parent.parent / "parity"


@pytest.fixture(scope="session")
def checkpoint() -> Checkpoint:
    return load_checkpoint(CHECKPOINTS / "tiny_v2", device="cpu")


@pytest.fixture(scope="session")
def first_generation() -> Checkpoint:
    return load_checkpoint(CHECKPOINTS / "tiny_v1", device="cpu")


@pytest.fixture(scope="package", autouse=True)
def _layers_once() -> Iterator[None]:
    """Engines of one checkpoint share the layers of their decoders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StreamingDecoder, "_build_layers", built_once())
        yield


@pytest.fixture
def make_engine(checkpoint: Checkpoint) -> Callable[..., VoxCPMEngine]:
    def make(**options: Any) -> VoxCPMEngine:
        return VoxCPMEngine(checkpoint, EngineOptions(**{"block_size": 8, "silence_guard": False} | options))

    return make


@pytest.fixture
def programs(
    make_engine: Callable[..., VoxCPMEngine], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., VoxCPMEngine]:
    """Engines that run programs, few and small ones."""
    monkeypatch.setattr(catalogue, "SHORT_CONTEXT", 48)
    monkeypatch.setitem(BACKENDS, "triton", StaticBackend)

    def make(**options: Any) -> VoxCPMEngine:
        settings = {"attention_backend": "triton", "graphs": "static", "max_num_seqs": 3, "max_model_len": 96}
        return make_engine(**settings | options)

    return make


def request(name: str, text: str = "hello world again", **changes: Any) -> SpeechRequest:
    """A request of 12 patches that no stop decision shortens."""
    return SpeechRequest(name, text, **{"seed": 5, "min_seconds": 0.12, "max_seconds": 0.12} | changes)


def run(engine: VoxCPMEngine, *requests: SpeechRequest) -> dict[str, list[SpeechOutput]]:
    """Everything the engine puts out for `requests`, by request id."""
    for item in requests:
        engine.add_request(item)
    outputs: dict[str, list[SpeechOutput]] = {item.request_id: [] for item in requests}
    while engine.has_unfinished():
        for output in engine.step():
            outputs[output.request_id].append(output)
    return outputs


def latents(outputs: list[SpeechOutput]) -> np.ndarray:
    return np.stack([output.latents for output in outputs])


def audio(outputs: list[SpeechOutput]) -> np.ndarray:
    return np.concatenate([output.audio for output in outputs])


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= tolerance * np.abs(expected).max()
