"""An adapter with random weights for the small V2 checkpoint, written in the published package's layout.

And an engine of that checkpoint with adapters in slots, by the forms for CUDA in Triton's interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.shared.adapter_work import random_layers
from engine.programs import catalogue
from models.lora.adapter import Adapter
from models.lora.files import write_adapter
from models.voxcpm import checkpoint as checkpoint_module
from models.voxcpm import engine as engine_module
from models.voxcpm import runner as runner_module
from models.voxcpm.adapters import adaptable
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint, read_config
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.vae.adapted_decoder import adaptable_convolutions
from tests.models.conftest import request

CHECKPOINT = Path(__file__).parents[2] / "parity" / "tiny_v2"
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
ADAPTED = (*ATTENTION, "gate_proj", "up_proj", "down_proj", "enc_to_lm_proj", "lm_to_dit_proj")
"""More than that, in all modules."""
OPTIONS = EngineOptions(
    max_num_seqs=2, max_model_len=48, block_size=8, silence_guard=False, attention_backend="triton",
    graphs="off", adapter_slots=2, enable_prefix_caching=False,
)  # fmt: skip
Fused = Callable[..., VoxCPMEngine]
LORA = {"enable_lm": True, "r": 4, "alpha": 8}
DECODER = {"enable_audio_vae_decoder": True, "r": 4, "alpha_audio_vae_decoder": 2}


def random_adapter(
    seed: int = 0, rank: int = 4, targets: tuple[str, ...] | None = None, base_digest: str = ""
) -> Adapter:
    """Attention of both language models, or `targets` wherever they are, at scale 8 / rank."""
    sizes = {
        name: size
        for name, size in adaptable(read_config(CHECKPOINT)).items()
        if name.endswith(targets or ATTENTION) and (targets or name.startswith(("base_lm.", "residual_lm.")))
    }
    return Adapter(random_layers(sizes, seed, rank, 0.3), 8 / rank, base="tiny", base_digest=base_digest)


def decoder_adapter(seed: int, beside: Adapter | None = None, rank: int = 4) -> Adapter:
    """All of the audio VAE's decoder, `beside` the layers of another adapter, at scales of their own."""
    sizes = adaptable_convolutions(read_config(CHECKPOINT).audio_vae_config)
    layers = random_layers(sizes, seed, rank, 0.03)
    if beside is None:
        return Adapter(layers, 0.5, base="tiny")
    return Adapter({**beside.layers, **layers}, beside.scale, dict.fromkeys(layers, 0.5), base="tiny")


@pytest.fixture
def adapter() -> Adapter:
    return random_adapter()


@pytest.fixture
def written(tmp_path: Path, adapter: Adapter) -> Path:
    write_adapter(tmp_path / "anna", adapter, LORA)
    return tmp_path / "anna"


@pytest.fixture
def sizes(checkpoint: Checkpoint) -> dict[str, tuple[int, int]]:
    return adaptable(checkpoint.config)


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fused]:
    from models.voxcpm.fused.model import fuse_model

    monkeypatch.setattr(checkpoint_module, "pack_model", lambda model, _: fuse_model(model))
    monkeypatch.setattr(catalogue, "SHORT_CONTEXT", 48)
    made = []

    def make(**changes: Any) -> VoxCPMEngine:
        with monkeypatch.context() as patched:
            for module in (engine_module, runner_module):
                patched.setattr(module, "runs_triton", lambda device: True)
            made.append(VoxCPMEngine(load_checkpoint(CHECKPOINT, "cpu"), replace(OPTIONS, **changes)))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def clip(name: str, adapter: str | None) -> Any:
    return request(
        name, max_seconds=0.02, min_seconds=0.02, inference_timesteps=2, seed=ord(name), adapter=adapter
    )
