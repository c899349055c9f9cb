"""Parts of VoxCPM give what the whole gives: hidden states, stop decisions and patches. Ranks are threads
here, with the same groups as processes have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.attention import AttentionBatch, PagedAttention
from engine.errors import RequestError
from engine.parallel.group import Group
from engine.parallel.part import WHOLE, Part
from engine.weights import export_state, load_into
from models.transformer.packed import pack_model
from models.voxcpm.checkpoint import BUNDLED_DIRECTORY, load_network, plan_network
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.runner import VoxCPMRunner
from models.voxcpm.steps.packing import pack, unpack
from models.voxcpm.steps.step_ahead import Part as StepPart
from tests.models.conftest import CHECKPOINTS
from tests.models.llm.parallel.rank_threads import on_ranks

CPU = torch.device("cpu")
BLOCK, COUNT = 8, 21


@dataclass
class State:
    """As `GenerationState`."""

    seed: int
    num_steps: int
    cfg_value: float
    adapter: None = None
    temperature: float = 0.7


def some_parts(model: VoxCPMModel) -> list[StepPart]:
    """A prompt of text and audio, one whose end comes later, and two that go on, with solver steps and
    guidance of their own."""
    draw = np.random.default_rng(7)
    patch = (model.config.patch_size, model.config.feat_dim)

    def patches(count: int) -> list[bytes]:
        return [draw.standard_normal(patch).astype(np.float32).tobytes() for _ in range(count)]

    text = draw.integers(0, model.config.lm_config.vocab_size, 12).tolist()
    return [
        StepPart([*text[:5], *patches(4), text[5]], 0, [3, 1], True, State(1, 10, 2.0), 0),
        StepPart(text[6:9], 0, [4], False, State(2, 10, 2.0), 0),
        StepPart(patches(1), 0, [5], True, State(3, 4, 1.0), 6),
        StepPart(patches(1), 0, [6, 7], True, State(4, 10, 1.5), 2),
    ]


def runner_of(model: VoxCPMModel, part: Part) -> VoxCPMRunner:
    sizes = {"num_blocks": 10, "block_size": BLOCK, "max_num_seqs": 4, "max_model_len": 64}
    return VoxCPMRunner(model, None, **sizes, part=part)


def computed(model: VoxCPMModel, part: Part) -> list[Tensor]:
    """Hidden states and stop logits of a prompt, then patches and stop decisions of a mixed step."""
    runner = runner_of(model, part)
    config, draw = model.config, torch.Generator().manual_seed(3)
    attention = PagedAttention(
        runner._backend, runner._pool, runner._backend.plan(AttentionBatch([0], [COUNT], [[0, 2, 8]]))
    )
    states = model.lm_hidden_states(
        torch.randint(config.lm_config.vocab_size, (COUNT,), generator=draw),
        torch.randn(COUNT, config.patch_size, config.feat_dim, generator=draw),
        torch.arange(COUNT) % 3 > 0,
        torch.arange(COUNT),
        attention,
    )
    made = runner.unrecorded.compute(some_parts(model))
    return [*states, model.stop_logits(states[0]), *made]


def assert_alike(found: list[Tensor], expected: list[Tensor]) -> None:
    for own, wanted in zip(found, expected, strict=True):
        assert own.shape == wanted.shape
        assert (own - wanted).abs().max() <= 1e-5 * wanted.abs().max()


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize(
    "directory",
    [CHECKPOINTS / "tiny_v1", CHECKPOINTS / "tiny_v2", BUNDLED_DIRECTORY],
    ids=lambda path: path.name,
)
def test_hidden_states_stops_and_patches_of_several_ranks_are_those_of_one(
    tmp_path: Path, directory: Path, size: int
) -> None:
    def load(part: Part) -> VoxCPMModel:
        return load_network(directory, CPU, torch.float32, part=part)

    with torch.inference_mode():
        expected = computed(load(WHOLE), WHOLE)

    def compute(group: Group) -> list[Tensor]:
        part = Part(group.rank, group.size, group)
        return computed(load(part), part)

    for found in on_ranks(size, tmp_path, compute):
        assert_alike(found, expected)


@pytest.mark.parametrize("packed", [True, False])
def test_so_are_those_of_layers_that_scale_what_they_add(tmp_path: Path, packed: bool) -> None:
    """`use_mup`, whose layers a CPU does not pack; and the plain form of the layers."""
    config = plan_network(CHECKPOINTS / "tiny_v1").config
    config = replace(config, lm_config=replace(config.lm_config, use_mup=True, vocab_size=331))
    torch.manual_seed(5)
    whole = VoxCPMModel(config).eval().requires_grad_(False)
    for parameter in whole.parameters():
        parameter.normal_(0.0, 0.1)
    state = export_state(whole)
    with torch.inference_mode():
        expected = computed(whole, WHOLE)

    def compute(group: Group) -> list[Tensor]:
        part = Part(group.rank, group.size, group)
        model = VoxCPMModel(config, part).eval().requires_grad_(False)
        load_into(model, state)
        assert len(model.base_lm.layers[0].self_attn.o_proj.weight[0]) * 2 == config.lm_config.hidden_size
        assert len(model.base_lm.embed_tokens.weight) == 331  # which nothing divides
        if packed:
            pack_model(model)
        return computed(model, part)

    for found in on_ranks(2, tmp_path, compute):
        assert_alike(found, expected)


def test_a_step_travels_as_two_arrays() -> None:
    model = SimpleNamespace(config=plan_network(CHECKPOINTS / "tiny_v2").config)
    parts: Any = some_parts(model)
    noise = np.random.default_rng(1).standard_normal((3, 4, 16)).astype(np.float32)
    for count in (4, 2):
        sampling = sum(part.samples for part in parts[:count])
        found, sent = unpack(*pack(parts[:count], noise[:sampling]), (4, 16))
        assert np.array_equal(sent, noise[:sampling])
        for own, part in zip(found, parts, strict=False):
            assert own[:4] == part[:4]
            wanted = part.state.num_steps, part.state.cfg_value, None
            assert (own.state.num_steps, own.state.cfg_value, own.state.adapter) == wanted


@pytest.mark.parametrize("size", [3, 8])
def test_a_model_that_cannot_be_divided_is_refused_by_name(size: int) -> None:
    problem = f"tensor_parallel_size {size}: this model has a num_attention_heads of 4"
    with pytest.raises(RequestError, match=problem) as error:
        plan_network(CHECKPOINTS / "tiny_v2", Part(0, size))
    assert error.value.param == "tensor_parallel_size"
