"""Random Qwen3 checkpoints in the released layout, and `transformers` as the oracle of what they compute."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from tests.text_models import write_tokenizer

SHAPES: dict[str, dict] = {
    "tied": {"tie_word_embeddings": True},
    "untied": {"tie_word_embeddings": False, "num_hidden_layers": 3},
    "many groups": {"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32},
    "one head of keys": {"num_attention_heads": 4, "num_key_value_heads": 1, "hidden_size": 96},
    "no groups": {"num_key_value_heads": 4, "rope_theta": 10000.0},
    "yarn": {
        "max_position_embeddings": 512,
        "rope_parameters": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 128,
            "rope_theta": 1000000.0,
        },
    },
}
VOCABULARY = 300


def make_checkpoint(directory: Path, shape: str = "tied", shards: int = 1) -> Qwen3ForCausalLM:
    """Write one to `directory`; returns the network that transformers makes of it, fp32."""
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 512,
        "eos_token_id": None,
    } | SHAPES[shape]
    torch.manual_seed(len(shape))
    config = Qwen3Config(**sizes)
    network = Qwen3ForCausalLM(config).float().eval()
    with torch.no_grad():
        for weight in network.parameters():
            # Sharper than at the start of training, so that no two tokens are nearly as likely.
            weight.copy_(torch.randn_like(weight) * (0.3 if weight.ndim > 1 else 0.2) + (weight.ndim == 1))
    most = 10_000_000 if shards == 1 else sum(p.nbytes for p in network.parameters()) // shards
    network.save_pretrained(directory, max_shard_size=most)
    write_tokenizer(directory)
    return network
