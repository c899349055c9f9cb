"""An adapter with random weights for the small V2 checkpoint, written in the published package's layout."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine.layers.low_rank import LowRank
from models.lora.adapter import Adapter
from models.lora.files import write_adapter
from models.voxcpm.adapters import adaptable
from models.voxcpm.checkpoint import Checkpoint, read_config

CHECKPOINT = Path(__file__).parents[2] / "parity" / "tiny_v2"
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
ADAPTED = (*ATTENTION, "gate_proj", "up_proj", "down_proj", "enc_to_lm_proj", "lm_to_dit_proj")
"""More than that, in all modules."""
LORA = {"enable_lm": True, "r": 4, "alpha": 8}


def random_adapter(
    seed: int = 0, rank: int = 4, targets: tuple[str, ...] | None = None, base_digest: str = ""
) -> Adapter:
    """Attention of both language models, or `targets` wherever they are, at scale 8 / rank."""
    generator = torch.Generator().manual_seed(seed)
    layers = {
        name: LowRank(
            torch.randn(rank, width, generator=generator) / width**0.5,
            0.3 * torch.randn(height, rank, generator=generator),
        )
        for name, (height, width) in adaptable(read_config(CHECKPOINT)).items()
        if name.endswith(targets or ATTENTION) and (targets or name.startswith(("base_lm.", "residual_lm.")))
    }
    return Adapter(layers, 8 / rank, base="tiny", base_digest=base_digest)


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
