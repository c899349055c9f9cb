"""Random weights in released shapes: for speed only the shape counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from engine.weights import export_state
from models.qwen3.config import Qwen3Config
from models.qwen3.model import Qwen3

COMMON = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 151936,
    "head_dim": 128,
    "num_key_value_heads": 8,
    "max_position_embeddings": 40960,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000,
    "hidden_act": "silu",
    "attention_bias": False,
    "torch_dtype": "bfloat16",
    "eos_token_id": 151645,
}
SHAPES: dict[str, dict] = {
    "0.6b": {
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "tie_word_embeddings": True,
    },
    "8b": {
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "tie_word_embeddings": False,
    },
}
"""Sizes as the released `config.json` files state them."""
TRAINED_POSITIONS = 32768
"""Longer texts are read by YaRN, as the model's card says."""


def write_checkpoint(directory: Path, shape: str | dict) -> None:
    """bf16, without a tokenizer; nothing where there is one already. shape: a name, or all of the config."""
    if (directory / "config.json").is_file():
        return
    directory.mkdir(parents=True, exist_ok=True)
    values = COMMON | SHAPES[shape] if isinstance(shape, str) else shape
    torch.manual_seed(0)
    with torch.device("meta"):
        network = Qwen3(Qwen3Config.from_dict(values))
    device = (
        "cuda" if torch.cuda.is_available() else "cpu"
    )  # where eight billion random numbers take a moment
    network = network.to(torch.bfloat16).to_empty(device=device)
    with torch.no_grad():
        for weight in network.parameters():
            weight.fill_(1.0) if weight.ndim == 1 else weight.normal_(std=0.02)
    save_file(export_state(network), directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "config.json").write_text(json.dumps(values, indent=1))


def with_context(shape: str, context: int) -> dict[str, Any]:
    """The configuration of a shape for so many positions, at least."""
    values = COMMON | SHAPES[shape]
    if context <= values["max_position_embeddings"]:
        return values
    factor = -(-context // TRAINED_POSITIONS)
    scaling = {
        "rope_type": "yarn", "factor": float(factor), "original_max_position_embeddings": TRAINED_POSITIONS
    }  # fmt: skip
    return values | {"max_position_embeddings": factor * TRAINED_POSITIONS, "rope_scaling": scaling}
