"""Random Qwen3 checkpoints in the released layout, and `transformers` as the oracle of what they compute."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM

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
    "mixture": {
        "num_experts": 8,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 48,
        "norm_topk_prob": True,
    },
    "mixture in some layers": {
        "num_experts": 5,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "num_hidden_layers": 4,
        "decoder_sparse_step": 2,
        "mlp_only_layers": [3],
        "tie_word_embeddings": True,
    },
}
VOCABULARY = 300
HEAD_DIM = 16
"""Unless a shape has another one."""


def make_checkpoint(directory: Path, shape: str = "tied", shards: int = 1) -> PreTrainedModel:
    """Write one to `directory`; returns the network that transformers makes of it, fp32."""
    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": 512,
        "eos_token_id": None,
    } | SHAPES[shape]
    torch.manual_seed(len(shape))
    if "num_experts" in sizes:
        network: PreTrainedModel = Qwen3MoeForCausalLM(Qwen3MoeConfig(**sizes))
    else:
        network = Qwen3ForCausalLM(Qwen3Config(**sizes))
    network.float().eval()
    with torch.no_grad():
        for weight in network.parameters():
            # Sharper than at the start of training, so that no two tokens are nearly as likely.
            weight.copy_(torch.randn_like(weight) * (0.3 if weight.ndim > 1 else 0.2) + (weight.ndim == 1))
    most = 10_000_000 if shards == 1 else sum(p.nbytes for p in network.parameters()) // shards
    network.save_pretrained(directory, max_shard_size=most)
    write_tokenizer(directory)
    return network
