"""Another family takes a configuration, a network and a line in the registry."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from engine.layers.rotary import Rotary
from models.config_fields import build
from models.llm import LLM, SamplingParams
from models.llm.families import FAMILIES, Family
from models.transformer.stack import Attention, Transformer


@dataclass(frozen=True)
class ToyConfig:
    """A transformer of two layers that knows no positions."""

    vocab_size: int = 50
    hidden_size: int = 32
    intermediate_size: int = 48
    num_hidden_layers: int = 2
    num_attention_heads: int = 2
    num_key_value_heads: int = 1
    max_position_embeddings: int = 128
    head_dim: int = 16
    rms_norm_eps: float = 1e-5
    residual_scale: float = 0.5
    qk_norm: bool = False
    torch_dtype: str = "float32"
    tie_word_embeddings: bool = True

    @classmethod
    def from_dict(cls, data: dict) -> ToyConfig:
        return build(cls, data, "config.json")

    def rotary(self) -> Rotary | None:
        return None


class Toy(nn.Module):
    def __init__(self, config: ToyConfig) -> None:
        super().__init__()
        self.config, self.body = config, Transformer(config)

    def forward(
        self, token_ids: Tensor, positions: Tensor, attention: Attention, ends: Tensor | None = None
    ) -> Tensor:
        hidden = self.body(self.body.embed_tokens(token_ids), None, attention)
        return hidden if ends is None else hidden[ends]

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden @ self.body.embed_tokens.weight.T


def test_a_toy_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.weights import export_state

    monkeypatch.setitem(FAMILIES, "ToyForCausalLM", Family(f"{__name__}:ToyConfig", f"{__name__}:Toy"))
    torch.manual_seed(0)
    save_file(export_state(Toy(ToyConfig())), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["ToyForCausalLM"], "vocab_size": 50}))
    params = SamplingParams(seed=2, max_tokens=30)
    with LLM(str(tmp_path), device="cpu", max_num_seqs=2) as llm:
        alone = llm.generate([[1, 2, 3]], params, use_tqdm=False)[0]
        together = llm.generate([[1, 2, 3], [9] * 40], params, use_tqdm=False)[0]
    assert len(alone["token_ids"]) == 30
    assert alone == together
    assert alone["text"] == ""  # it has no tokenizer
