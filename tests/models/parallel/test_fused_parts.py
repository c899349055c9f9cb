"""VoxCPM's form for GPUs in parts: encoder, language models and solver compute what the plain whole computes.
Ranks are threads that take turns, since Triton's interpreter is for one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from engine.kernels.linear.split_tiling import MAX_ROWS
from engine.parallel.group import Group
from engine.parallel.part import Part
from engine.weights import export_state, load_into
from models.transformer.stack import bidirectional_attention
from models.voxcpm.checkpoint import plan_network
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.fused.flow import FusedEncoder
from models.voxcpm.fused.model import fuse_model
from models.voxcpm.model import VoxCPMModel
from tests.models.conftest import CHECKPOINTS
from tests.models.llm.parallel.rank_threads import SIZE, TakingTurns, Turns

ROWS = 3


def everything(model: VoxCPMModel) -> list[Tensor]:
    """Of random inputs: encoded patches, a prompt's hidden states, guided patches and others."""
    config, draw = model.config, torch.Generator().manual_seed(2)
    patch, hidden = (config.patch_size, config.feat_dim), config.lm_config.hidden_size
    last, noise = (torch.randn(ROWS, *patch, generator=draw) for _ in range(2))
    embeds = torch.randn(7, hidden, generator=draw)
    states = model.run_language_models(embeds, embeds, None, torch.arange(7), attention)
    mu = model.dit_condition(*(state[:ROWS] for state in states))
    guidance = torch.linspace(1, 3, ROWS)[:, None, None]
    solved = [FlowSolver(model.dit).solve(noise, mu, last, 3, cfg) for cfg in (guidance, None)]
    return [model.encode_patches(last), *states, *solved]


def attention(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Over all rows of a flat batch."""
    return bidirectional_attention(layer, q[None], k[None], v[None])[0]


def config_of(generation: str) -> VoxCPMConfig:
    return plan_network(CHECKPOINTS / generation).config


@pytest.mark.parametrize(("generation", "few_rows"), [("tiny_v1", MAX_ROWS), ("tiny_v2", 0)])
def test_a_fused_model_in_parts_computes_what_the_whole_computes(generation: str, few_rows: int) -> None:
    torch.manual_seed(1)
    config, turns = config_of(generation), Turns()
    plain = VoxCPMModel(config).eval().requires_grad_(False)
    for name, parameter in plain.named_parameters():
        parameter.normal_(*((1.0, 0.1) if "norm" in name else (0.0, 0.08)))
    state = export_state(plain)

    @torch.inference_mode()
    def run(rank: int) -> list[Tensor]:
        with turns.baton:
            group: Group = TakingTurns(rank, turns)
            part = VoxCPMModel(config, Part(rank, SIZE, group)).eval().requires_grad_(False)
            load_into(part, state)
            fuse_model(part, few_rows)
            assert isinstance(part.feat_encoder, FusedEncoder) and part.dit.integrate is not None
            return everything(part)

    with ThreadPoolExecutor(SIZE) as threads, torch.inference_mode():
        expected = everything(plain)
        for found in threads.map(run, range(SIZE)):
            for own, wanted in zip(found, expected, strict=True):
                assert (own - wanted).abs().max() <= 3e-5 * wanted.abs().max()
