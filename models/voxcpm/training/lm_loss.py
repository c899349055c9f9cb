"""What the language model learns from one flat batch: flow matching on patches, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.layers.norm import RMSNorm
from models.voxcpm.model import VoxCPMModel

from .flat_attention import flat_attention
from .recipe import LMRecipe


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
    """The tensors of a lm_batches.Batch that the loss reads, on the device."""

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


class TrainingLoss(nn.Module):
    """Flow-matching and stop losses of one flat batch."""

    def __init__(self, model: VoxCPMModel, recipe: LMRecipe) -> None:
        super().__init__()
        self.model, self.recipe = model, recipe

    def forward(self, batch: DeviceBatch, features: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Losses (flow, stop). features [A, P, D]: patches of audio rows, target [F, P, D]: of flow rows."""
        model, recipe = self.model, self.recipe
        features = features + torch.randn_like(features) * batch.noise[:, None, None]
        encoded = model.encode_patches(features)
        audio = encoded.new_zeros(recipe.tokens + 1, encoded.shape[-1]).index_copy(
            0, batch.audio_positions, encoded
        )
        audio, mask = audio[: recipe.tokens], batch.audio_mask[:, None]
        embeds = torch.where(mask, audio, model.embed_text(batch.token_ids).to(audio.dtype))
        attention = flat_attention(batch.boundaries, recipe.longest_document)
        lm_hidden, residual_hidden = model.run_language_models(
            embeds, audio, mask, batch.positions, attention
        )
        flow = self._flow_loss(batch, features, target, lm_hidden.float(), residual_hidden.float())
        logits = model.stop_logits(lm_hidden).float()
        return flow, F.cross_entropy(logits, batch.stop_labels, ignore_index=-1)

    def _flow_loss(
        self,
        batch: DeviceBatch,
        features: Tensor,
        target: Tensor,
        lm_hidden: Tensor,
        residual_hidden: Tensor,
    ) -> Tensor:
        """Mean square error of the velocity at a random flow time; some rows see no condition (guidance)."""
        rows, device = self.recipe.flow_rows, target.device
        mu = self.model.dit_condition(lm_hidden[batch.flow_positions], residual_hidden[batch.flow_positions])
        guided = torch.rand(rows, 1, 1, device=device) >= self.recipe.condition_dropout
        previous = torch.cat([features, torch.zeros_like(features[:1])])[batch.flow_previous]
        flow_time = torch.sigmoid(torch.randn(rows, device=device) - 0.4)
        noise = torch.randn_like(target)
        mixed = torch.lerp(target, noise, flow_time[:, None, None])
        velocity = self.model.dit(mixed, mu * guided.to(mu.dtype), flow_time, previous)
        return F.mse_loss(velocity.float(), noise - target)
