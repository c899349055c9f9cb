"""The loss of a batch, and its gradient, are those of the published training code, adapters included."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.shared.published import load_published
from engine.layers.low_rank import LowRank
from models.voxcpm.adapters import loaded
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.training.lm.loss import DeviceBatch, FlowDraws, TrainingLoss
from models.voxcpm.training.recipe import LMRecipe
from tests.parity import adapters
from tests.parity.oracle import random_checkpoint, small_config

TOLERANCE = 1e-4
RANK, ALPHA, DROPOUT = 6, 12, 0.1
GENERATIONS = {"0.5B": ("voxcpm", {}), "1.5": ("voxcpm", {"patch_size": 4}), "2": ("voxcpm2", {})}


@dataclass
class Row:
    """A document as the published packer lays it out: text ids (0 at audio), where audio is and is learnt."""

    tokens: list[int]
    audio: list[bool]
    target: list[bool]


def document(text: int, patches: int, reference: int = 0, prompt: int = 0) -> Row:
    tokens, audio = [], []
    if reference:
        tokens, audio = [103, *[0] * reference, 104], [False, *[True] * reference, False]
    tokens += [*range(110, 110 + text), 101, *[0] * (prompt + patches), 102]
    audio += [False] * (text + 1) + [True] * (prompt + patches) + [False]
    target = [False] * (len(tokens) - patches - 1) + [True] * patches + [False]
    return Row(tokens, audio, target)


def rows_of(architecture: str) -> list[Row]:
    rows = [document(5, 9), document(8, 6, prompt=4), document(3, 4)]
    return [*rows, document(4, 7, reference=5)] if architecture == "voxcpm2" else rows


def padded(rows: list[Row], field: str, length: int) -> Tensor:
    values = [[int(value) for value in getattr(row, field)] for row in rows]
    return torch.tensor([value + [0] * (length - len(value)) for value in values])


def published_loss(model: Any, tokens: Tensor, audio: Tensor, target: Tensor, features: Tensor) -> Tensor:
    labels = torch.zeros_like(tokens)
    last = target.shape[1] - 1 - target.flip(1).argmax(1)
    labels[torch.arange(len(tokens)), last] = 1
    lengths = (tokens + audio).ne(0).cumsum(1).argmax(1)
    spoken = torch.arange(tokens.shape[1]) <= lengths[:, None]
    model.train()
    model.feat_decoder.training_cfg_rate = DROPOUT
    torch.manual_seed(7)
    losses = model(
        tokens, (spoken & ~audio.bool()).int(), features, audio, target, torch.zeros_like(tokens), labels
    )
    return torch.stack([losses["loss/diff"], losses["loss/stop"]])


def published_draws(rows: int, patch: int, dim: int) -> FlowDraws:
    """What the package draws for all positions after the same seed, in its order."""
    torch.manual_seed(7)
    guided = torch.rand(rows) > DROPOUT
    torch.rand(rows), torch.randn(rows, dim, patch), torch.randn(rows)
    flow_time = torch.sigmoid(torch.randn(rows) - 0.4)
    torch.rand(rows)
    return FlowDraws(guided[:, None, None], flow_time, torch.randn(rows, dim, patch).transpose(1, 2))


def flat(tokens: Tensor, audio: Tensor, target: Tensor) -> DeviceBatch:
    count, length = tokens.shape
    mask, wanted = audio.flatten().bool(), target.flatten().bool()
    at_audio, at_target = mask.nonzero()[:, 0], wanted.nonzero()[:, 0]
    row_of = torch.full((count * length,), len(at_audio))
    row_of[at_audio] = torch.arange(len(at_audio))
    labels = torch.full((count * length,), -1)
    labels[at_target - 1] = 0
    labels[at_target[torch.cat([at_target.diff() != 1, torch.tensor([True])])] - 1] = 1
    return DeviceBatch(
        token_ids=tokens.flatten(),
        positions=torch.arange(length).repeat(count),
        audio_mask=mask,
        boundaries=torch.arange(count + 1, dtype=torch.int32) * length,
        audio_positions=at_audio,
        audio_patches=at_audio,
        noise=torch.zeros(len(at_audio)),
        flow_positions=at_target - 1,
        flow_patches=at_target,
        flow_previous=row_of[at_target - 1],
        stop_labels=labels,
    )


@pytest.mark.parametrize("generation", GENERATIONS)
def test_loss_and_gradient_are_those_of_the_published_training(generation: str, tmp_path: Path) -> None:
    architecture, changes = GENERATIONS[generation]
    directory = random_checkpoint(tmp_path / "checkpoint", small_config(architecture, **changes))
    theirs = load_published(directory)
    adapters.adapt(theirs, r=RANK, alpha=ALPHA)
    rows = rows_of(architecture)
    length = max(len(row.tokens) for row in rows) + 3
    tokens, audio, target = (padded(rows, field, length) for field in ("tokens", "audio", "target"))
    torch.manual_seed(5)
    features = (
        torch.randn(*tokens.shape, theirs.patch_size, theirs.audio_vae.latent_dim) * audio[..., None, None]
    )
    expected = published_loss(theirs, tokens, audio, target, features)
    (expected[0] + expected[1]).backward()

    mine = load_checkpoint(directory, device="cpu", trainable=True).model.train()
    leaves = {
        name: parameter.detach().clone().requires_grad_()
        for name, parameter in theirs.named_parameters() if "lora_" in name
    }  # fmt: skip
    layers = {
        name.removesuffix(".lora_A"): LowRank(down, leaves[f"{name[:-1]}B"] * (ALPHA / RANK))
        for name, down in leaves.items() if name.endswith("lora_A")
    }  # fmt: skip
    batch, patches = flat(tokens, audio, target), features.flatten(0, 1)
    draws = FlowDraws(
        *(drawn[batch.flow_patches] for drawn in published_draws(len(patches), *patches.shape[1:]))
    )
    recipe = LMRecipe(tokens=len(patches), longest_document=length, condition_dropout=DROPOUT)
    losses = TrainingLoss(mine, recipe)(
        batch, patches[batch.audio_patches], patches[batch.flow_patches], loaded(mine, layers), draws
    )
    torch.testing.assert_close(torch.stack(losses), expected, rtol=TOLERANCE, atol=0)
    sum(losses).backward()
    for name, parameter in theirs.named_parameters():
        if "lora_" in name:
            error = (leaves[name].grad - parameter.grad).abs().max() / parameter.grad.abs().max()
            assert error <= TOLERANCE, (name, error)
