"""The fused solver and encoder compute what the plain ones compute."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch

from engine.kernels.linear.split_tiling import MAX_ROWS
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.flow_matching import FlowSolver, guide
from models.voxcpm.fused.flow import FusedEncoder
from models.voxcpm.fused.flow_kernels import Placement, Step, flow_step, place_patches
from models.voxcpm.fused.model import fuse_model
from models.voxcpm.model import VoxCPMModel


def _models(config: VoxCPMConfig, few_rows: int = MAX_ROWS) -> tuple[VoxCPMModel, VoxCPMModel]:
    torch.manual_seed(4)
    plain = VoxCPMModel(config).eval().requires_grad_(False)
    for parameter in plain.parameters():
        parameter.normal_(0.0, 0.1)
    fused = copy.deepcopy(plain)
    fuse_model(fused, few_rows)
    return plain, fused


@pytest.fixture(scope="module")
def models(checkpoint: Checkpoint) -> tuple[VoxCPMModel, VoxCPMModel]:
    return _models(checkpoint.config)


@pytest.fixture(scope="module")
def first_models(first_generation: Checkpoint) -> tuple[VoxCPMModel, VoxCPMModel]:
    return _models(first_generation.config)


@pytest.fixture(scope="module")
def models_of_many_rows(checkpoint: Checkpoint) -> tuple[VoxCPMModel, VoxCPMModel]:
    return _models(checkpoint.config, few_rows=0)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("guided", [True, False])
@pytest.mark.parametrize("generation", ["first_models", "models", "models_of_many_rows"])
@torch.inference_mode()
def test_the_fused_solver_equals_the_plain_one(
    generation: str, guided: bool, rows: int, request: pytest.FixtureRequest
) -> None:
    plain, fused = request.getfixturevalue(generation)
    config = plain.config
    torch.manual_seed(rows)
    shape = (rows, config.patch_size, config.feat_dim)
    noise, cond = torch.randn(shape), torch.randn(shape)
    mu = torch.randn(rows, 2 if config.two_condition_tokens else 1, config.dit_config.hidden_dim)
    cfg_value = torch.linspace(1, 3, rows)[:, None, None] if guided else None
    given = [part.clone() for part in (noise, mu, cond)]
    solved = [FlowSolver(model.dit).solve(noise, mu, cond, 4, cfg_value) for model in (plain, fused)]
    assert fused.dit.integrate is not None and plain.dit.integrate is None
    assert not torch.allclose(solved[0], noise, atol=0.1)
    torch.testing.assert_close(solved[1], solved[0], atol=1e-4, rtol=1e-4)
    assert all(torch.equal(*pair) for pair in zip(given, (noise, mu, cond), strict=True))


@torch.inference_mode()
def test_a_grid_without_a_call_of_the_estimator_gives_the_noise_back(
    models: tuple[VoxCPMModel, VoxCPMModel],
) -> None:
    noise, mu = torch.randn(2, 4, 16), torch.randn(2, 2, 64)
    assert torch.equal(FlowSolver(models[1].dit).solve(noise, mu, noise, 1, torch.ones(2, 1, 1)), noise)


@pytest.mark.parametrize("rows", [0, 1, 6])
@torch.inference_mode()
def test_the_fused_encoder_equals_the_plain_one(models: tuple[VoxCPMModel, VoxCPMModel], rows: int) -> None:
    plain, fused = models
    assert isinstance(fused.feat_encoder, FusedEncoder)
    patches = torch.randn(rows, 4, 16)
    torch.testing.assert_close(
        fused.encode_patches(patches), plain.encode_patches(patches), atol=1e-5, rtol=1e-4
    )


@pytest.mark.parametrize(("streams", "patch", "dim"), [(1, 4, 64), (9, 2, 12), (3, 5, 16), (2, 20, 8)])
@pytest.mark.parametrize("guided", [True, False])
@torch.inference_mode()
def test_a_step_moves_every_stream_by_its_own_guidance(
    streams: int, patch: int, dim: int, guided: bool
) -> None:
    torch.manual_seed(5)
    branches, hidden, place = 1 + guided, 72, 3
    x, velocity = torch.randn(streams, patch, dim), torch.randn(branches * streams, patch, dim)
    cfg_value = torch.linspace(0.5, 3, streams)[:, None, None] if guided else None
    projection = torch.nn.Linear(dim, hidden)
    head, shift = torch.randn(1, hidden), torch.randn(streams, hidden)
    tokens = torch.full((branches * streams, place + patch + 1, hidden), 7.0)
    moved = flow_step(
        x, Step(velocity, cfg_value, 0.25), projection, Placement(tokens, place, head, 1, shift)
    )

    expected = x - 0.25 * (velocity if cfg_value is None else guide(velocity, cfg_value))
    torch.testing.assert_close(moved, expected, atol=1e-5, rtol=1e-5)
    wanted = torch.full_like(tokens, 7.0)
    wanted[:, place : place + patch] = projection(expected).repeat(branches, 1, 1)
    wanted[:, 1] = head
    wanted[:streams, 1] += shift
    torch.testing.assert_close(tokens, wanted, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_the_last_step_makes_no_tokens() -> None:
    x, velocity = torch.randn(3, 4, 16), torch.randn(3, 4, 16)
    moved = flow_step(x, Step(velocity, None, 0.5), torch.nn.Linear(16, 32), None)
    torch.testing.assert_close(moved, x - 0.5 * velocity)


@torch.inference_mode()
def test_patches_are_placed_in_every_branch_and_nowhere_else() -> None:
    x, projection = torch.randn(5, 4, 16), torch.nn.Linear(16, 80)
    tokens = torch.zeros(10, 6, 80)
    place_patches(x.transpose(0, 1).contiguous().transpose(0, 1), projection, Placement(tokens, 1))
    assert not tokens[:, 0].any() and not tokens[:, 5].any()
    torch.testing.assert_close(tokens[:, 1:5], projection(x).repeat(2, 1, 1), atol=1e-5, rtol=1e-5)


def test_a_fused_model_keeps_its_weights_and_their_names(first_generation: Checkpoint) -> None:
    config = dataclasses.replace(first_generation.config)
    model = VoxCPMModel(config)
    before = {parameter.data_ptr() for parameter in model.parameters()}
    fuse_model(model)
    assert {parameter.data_ptr() for parameter in model.parameters()} == before
