"""What the language model learns from one flat batch: flow matching on patches, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.layers.norm import RMSNorm
from models.lora.rows import BatchAdapters, LoadedAdapter, RowAdapters, deltas_of
from models.voxcpm.model import DIT_STACK, VoxCPMModel
from models.voxcpm.training.lm.flat_attention import flat_attention
from models.voxcpm.training.recipe import LMRecipe


def initialize(model: VoxCPMModel) -> None:
    """Small normal weights, zero biases; embeddings large enough to stand beside encoded audio."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            deviation = 0.02 if module.in_features >= 256 else 0.5 * module.in_features**-0.5
            nn.init.normal_(module.weight, std=deviation)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.5)
        elif isinstance(module, RMSNorm):
            nn.init.ones_(module.weight)
    nn.init.normal_(model.feat_encoder.special_token, std=0.02)


@dataclass
class DeviceBatch:
    """The tensors of a batches.Batch that the loss reads, on the device."""

    token_ids: Tensor
    positions: Tensor
    audio_mask: Tensor
    boundaries: Tensor
    audio_positions: Tensor
    audio_patches: Tensor
    noise: Tensor
    flow_positions: Tensor
    flow_patches: Tensor
    flow_previous: Tensor
    stop_labels: Tensor


class FlowDraws(NamedTuple):
    """What is random in the flow-matching loss of F rows.

    guided [F, 1, 1] bool: rows that see their condition; flow_time [F] in 0..1, from data to noise;
    noise [F, P, D].
    """

    guided: Tensor
    flow_time: Tensor
    noise: Tensor

    @classmethod
    def of(cls, target: Tensor, condition_dropout: float) -> FlowDraws:
        """Fresh ones for patches [F, P, D]."""
        rows, device = len(target), target.device
        guided = torch.rand(rows, 1, 1, device=device) >= condition_dropout
        flow_time = torch.sigmoid(torch.randn(rows, device=device) - 0.4)
        return cls(guided, flow_time, torch.randn_like(target))


class TrainingLoss(nn.Module):
    """Flow-matching and stop losses of one flat batch."""

    def __init__(self, model: VoxCPMModel, recipe: LMRecipe) -> None:
        super().__init__()
        self.model, self.recipe = model, recipe

    def forward(
        self,
        batch: DeviceBatch,
        features: Tensor,
        target: Tensor,
        adapter: LoadedAdapter | None = None,
        draws: FlowDraws | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Losses (flow, stop). features [A, P, D]: patches of audio rows, target [F, P, D]: of flow rows.

        adapter: of all rows. draws: fresh ones where none are given.
        """
        model, recipe = self.model, self.recipe
        features = features + torch.randn_like(features) * batch.noise[:, None, None]
        everywhere = RowAdapters.of([adapter])
        encoded = model.encode_patches(features, everywhere)
        audio = encoded.new_zeros(recipe.tokens + 1, encoded.shape[-1]).index_copy(
            0, batch.audio_positions, encoded
        )
        audio, mask = audio[: recipe.tokens], batch.audio_mask[:, None]
        embeds = torch.where(mask, audio, model.embed_text(batch.token_ids).to(audio.dtype))
        attention = flat_attention(batch.boundaries, recipe.longest_document)
        lm_hidden, residual_hidden = model.run_language_models(
            embeds, audio, mask, batch.positions, attention, everywhere
        )
        draws = draws or FlowDraws.of(target, recipe.condition_dropout)
        hidden = (lm_hidden.float(), residual_hidden.float())
        flow = self._flow_loss(batch, features, target, hidden, draws, everywhere)
        logits = model.stop_logits(lm_hidden).float()
        return flow, F.cross_entropy(logits, batch.stop_labels, ignore_index=-1)

    def _flow_loss(
        self,
        batch: DeviceBatch,
        features: Tensor,
        target: Tensor,
        hidden: tuple[Tensor, Tensor],
        draws: FlowDraws,
        adapters: BatchAdapters | None,
    ) -> Tensor:
        """Mean square error of the velocity at a random flow time; some rows see no condition (guidance)."""
        lm_hidden, residual_hidden = (states[batch.flow_positions] for states in hidden)
        mu = self.model.dit_condition(lm_hidden, residual_hidden, adapters)
        previous = torch.cat([features, torch.zeros_like(features[:1])])[batch.flow_previous]
        mixed = torch.lerp(target, draws.noise, draws.flow_time[:, None, None])
        velocity = self.model.dit(
            mixed,
            mu * draws.guided.to(mu.dtype),
            draws.flow_time,
            previous,
            deltas=deltas_of(adapters, DIT_STACK),
        )
        return F.mse_loss(velocity.float(), draws.noise - target)
