"""Mixtures of experts: what their configuration may say, and which steps they take."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine.errors import EngineError, RequestError, WeightError
from engine.layers.low_rank import Deltas
from engine.weights import load_state
from models.config_fields import ConfigError
from models.llm import LLM
from models.llm.checkpoint import load_text_checkpoint
from models.qwen3.mixture import Experts, Qwen3MoeConfig
from tests.models.llm.checkpoints import make_checkpoint

SIZES = {
    "vocab_size": 99,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 64,
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("mixture")
    make_checkpoint(directory, "mixture")
    return directory


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_experts", 0),
        ("num_experts_per_tok", 7),
        ("moe_intermediate_size", 0),
        ("decoder_sparse_step", 0),
    ],
)
def test_what_no_mixture_has_is_refused_by_name(field: str, value: int) -> None:
    with pytest.raises(ConfigError, match=field):
        Qwen3MoeConfig.from_dict({**SIZES, field: value})


def test_layers_have_experts_where_the_file_says_so() -> None:
    config = Qwen3MoeConfig.from_dict({**SIZES, "mlp_only_layers": [1], "decoder_sparse_step": 2})
    assert [config.is_sparse(layer) for layer in range(4)] == [False, False, False, True]
    assert all(Qwen3MoeConfig.from_dict(SIZES).is_sparse(layer) for layer in range(4))


def test_an_expert_that_is_missing_is_named(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = load_state(directory)
    name = "model.layers.1.mlp.experts.5.up_proj.weight"
    del state[name]
    monkeypatch.setattr("models.llm.checkpoint.load_state", lambda directory: state)
    with pytest.raises(WeightError, match=name):
        load_text_checkpoint(str(directory), "cpu")


@pytest.mark.parametrize("normalises", [False, True])
def test_each_position_gets_the_sum_of_its_experts_by_their_shares(normalises: bool) -> None:
    torch.manual_seed(0)
    experts = Experts(Qwen3MoeConfig.from_dict({**SIZES, "norm_topk_prob": normalises}))
    x = torch.randn(7, 32)
    with torch.inference_mode():
        shares, chosen = experts.route(x)
        assert torch.allclose(shares.sum(-1), torch.ones(7)) is normalises
        expected = torch.stack(
            [
                sum(share * experts.experts[n](row, Deltas([], [])) for share, n in zip(*pair, strict=True))
                for row, *pair in zip(x, shares, chosen, strict=True)
            ]
        )
        assert torch.allclose(experts(x, Deltas([], [])), expected, atol=1e-6)
        with pytest.raises(EngineError, match="experts take no adapters"):
            experts(x, Deltas([None], [[]]))


def test_it_is_not_shared_out_over_ranks(directory: Path) -> None:
    with pytest.raises(RequestError, match="must be 1 for Qwen3Moe"):
        LLM(str(directory), tensor_parallel_size=2, device="cpu")


def test_its_steps_are_not_recorded(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("models.llm.engine.runs_triton", lambda device: True)
    with LLM(str(directory), device="cpu") as llm:
        assert llm._engine._llm.runner._programs is None
    assert "CUDA graphs" not in caplog.text
