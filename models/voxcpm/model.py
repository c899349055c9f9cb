"""The VoxCPM network: one definition for VoxCPM-0.5B, VoxCPM1.5 and VoxCPM2, shaped by its config.

    text + audio patches -> base LM -> scalar quantisation -> residual LM -> two hidden vectors
    hidden vectors + last patch -> DiT (flow matching) -> next patch -> local encoder -> next LM input

Module names follow the released checkpoints, so weights load by name. Shapes: T positions of a flat
batch, N rows, P latents per patch, D values per latent, H hidden.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.layers.low_rank import NOTHING, Deltas
from engine.parallel.part import WHOLE, Part
from models.lora.rows import BatchAdapters, adapted, deltas_of
from models.transformer.stack import Attention, CosSin, Transformer, bidirectional_attention
from models.voxcpm.config import TransformerConfig, VoxCPMConfig

DIT_STACK = "feat_decoder.estimator.decoder"
PROJECTIONS = ("enc_to_lm_proj", "lm_to_dit_proj", "res_to_dit_proj", "fusion_concat_proj")
"""With both language models these are the modules that adapters know by name."""


class LocalEncoder(nn.Module):
    """Turns one patch of latents into one vector: a class token attends over the patch."""

    row_attention: Attention = staticmethod(bidirectional_attention)

    def __init__(self, config: TransformerConfig, feat_dim: int, part: Part = WHOLE) -> None:
        super().__init__()
        self.special_token = nn.Parameter(torch.zeros(1, 1, 1, config.hidden_size))
        self.in_proj = nn.Linear(feat_dim, config.hidden_size)
        self.encoder = Transformer(config, part=part)

    def forward(self, patches: Tensor) -> Tensor:
        """patches [N, P, D] -> [N, hidden]."""
        x = self.in_proj(patches)
        x = torch.cat([self.special_token[0].to(x.dtype).expand(len(x), 1, -1), x], dim=1)
        positions = torch.arange(x.shape[1], device=x.device)
        rope = self.encoder.cos_sin(positions)
        return self.encoder(x, rope, self.row_attention, keep=slice(0, 1))[:, 0]


class TimestepEmbedding(nn.Module):
    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(hidden_size, hidden_size)
        self.linear_2 = nn.Linear(hidden_size, hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear_2(F.silu(self.linear_1(x)))


def sinusoidal_embedding(time: Tensor, dim: int, scale: float = 1000.0) -> Tensor:
    """Sine and cosine features of flow time: time [N] in 0..1 -> [N, dim], computed in fp32."""
    half = dim // 2
    frequencies = torch.exp(
        torch.arange(half, device=time.device, dtype=torch.float32) * (-math.log(10000.0) / (half - 1))
    )
    angles = scale * time.float()[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


@dataclass(frozen=True)
class DiTPrefix:
    """The tokens before the noisy patch, as far as the solver's steps share them."""

    mu: Tensor
    """[N, K, h]: condition tokens."""
    cond: Tensor
    """[N, P, h]: the projected previous patch."""
    rope: CosSin | None


class LocalDiT(nn.Module):
    """Velocity estimator of the flow: a transformer over [condition, time, previous patch, noisy patch]."""

    row_attention: Attention = staticmethod(bidirectional_attention)
    integrate: Callable[..., Tensor] | None = None
    """Takes the place of `FlowSolver.integrate` where there is a faster form of it."""

    def __init__(
        self,
        config: TransformerConfig,
        feat_dim: int,
        two_condition_tokens: bool,
        part: Part = WHOLE,
    ) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.hidden_size, self.two_condition_tokens = hidden, two_condition_tokens
        self.in_proj = nn.Linear(feat_dim, hidden)
        self.cond_proj = nn.Linear(feat_dim, hidden)
        self.out_proj = nn.Linear(hidden, feat_dim)
        self.time_mlp = TimestepEmbedding(hidden)
        self.delta_time_mlp = TimestepEmbedding(hidden)
        self.decoder = Transformer(config, part=part)

    def time_embedding(self, time: Tensor, delta: Tensor) -> Tensor:
        """time and delta [N] -> [N, hidden]. Constant over a batch for a fixed grid, so callers cache it."""
        dtype = self.decoder.norm.weight.dtype
        return self.time_mlp(sinusoidal_embedding(time, self.hidden_size).to(dtype)) + self.delta_time_mlp(
            sinusoidal_embedding(delta, self.hidden_size).to(dtype)
        )

    def prefix(self, mu: Tensor, cond: Tensor) -> DiTPrefix:
        """What does not change between solver steps: mu [N, K, h], cond [N, P, D]."""
        num_tokens = mu.shape[1] + int(self.two_condition_tokens) + 2 * cond.shape[1]
        rope = self.decoder.cos_sin(torch.arange(num_tokens, device=mu.device))
        return DiTPrefix(mu, self.cond_proj(cond), rope)

    def velocity(
        self, x: Tensor, prefix: DiTPrefix, time_embedding: Tensor, deltas: Deltas = NOTHING
    ) -> Tensor:
        """x [N, P, D], time_embedding [N or 1, h] -> velocity [N, P, D]; deltas: of the transformer."""
        num_rows, patch = x.shape[0], x.shape[1]
        time = time_embedding[:, None].expand(num_rows, -1, -1)
        head = (prefix.mu, time) if self.two_condition_tokens else (prefix.mu + time,)
        tokens = torch.cat([*head, prefix.cond, self.in_proj(x)], dim=1)
        kept = slice(-patch, None)
        hidden = self.decoder(tokens, prefix.rope, self.row_attention, kept, deltas)
        return self.out_proj(hidden)

    def forward(
        self,
        x: Tensor,
        mu: Tensor,
        time: Tensor,
        cond: Tensor,
        delta: Tensor | None = None,
        deltas: Deltas = NOTHING,
    ) -> Tensor:
        """x, cond [N, P, D], mu [N, K, h], time [N] -> velocity [N, P, D]; deltas: see `velocity`."""
        delta = torch.zeros_like(time) if delta is None else delta
        return self.velocity(x, self.prefix(mu, cond), self.time_embedding(time, delta), deltas)


class FlowDecoder(nn.Module):
    """Holder of the DiT under the name the checkpoints use; the solver is `flow_matching.FlowSolver`."""

    def __init__(self, estimator: LocalDiT) -> None:
        super().__init__()
        self.estimator = estimator


class ScalarQuantization(nn.Module):
    """Finite scalar quantisation: round(tanh(x) * scale) / scale in a narrow space.

    In training the rounding is passed straight through to the gradient.
    """

    def __init__(self, hidden_size: int, latent_dim: int, scale: int) -> None:
        super().__init__()
        self.scale = scale
        self.in_proj = nn.Linear(hidden_size, latent_dim)
        self.out_proj = nn.Linear(latent_dim, hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        soft = torch.tanh(self.in_proj(x))
        hard = torch.round(soft * self.scale) / self.scale
        return self.out_proj(soft + (hard - soft).detach() if self.training else hard)


class VoxCPMModel(nn.Module):
    """All weights but the audio VAE's. In the KV pool the base LM's layers come before the residual LM's.

    part: what a rank has of the layers of all four stacks. What lies outside of them every rank has whole, so
    that hidden states, stop decisions and patches are the same on all.
    """

    def __init__(self, config: VoxCPMConfig, part: Part = WHOLE) -> None:
        super().__init__()
        self.config = config
        hidden, dit_hidden = config.lm_config.hidden_size, config.dit_config.hidden_dim
        first_residual = config.lm_config.num_hidden_layers
        self.base_lm = Transformer(config.lm_config, part=part, whole_embedding=True)
        self.residual_lm = Transformer(config.residual_transformer(), first_residual, part)
        self.feat_encoder = LocalEncoder(config.encoder_transformer(), config.feat_dim, part)
        self.feat_decoder = FlowDecoder(
            LocalDiT(config.dit_transformer(), config.feat_dim, config.two_condition_tokens, part)
        )
        self.fsq_layer = ScalarQuantization(
            hidden, config.scalar_quantization_latent_dim, config.scalar_quantization_scale
        )
        self.enc_to_lm_proj = nn.Linear(config.encoder_config.hidden_dim, hidden)
        self.lm_to_dit_proj = nn.Linear(hidden, dit_hidden)
        self.res_to_dit_proj = nn.Linear(hidden, dit_hidden)
        if config.concat_residual:
            self.fusion_concat_proj = nn.Linear(2 * hidden, hidden)
        self.stop_proj = nn.Linear(hidden, hidden)
        self.stop_head = nn.Linear(hidden, 2, bias=False)

    @property
    def dit(self) -> LocalDiT:
        return self.feat_decoder.estimator

    @property
    def num_kv_layers(self) -> int:
        return self.config.lm_config.num_hidden_layers + self.config.residual_lm_num_layers

    def encode_patches(self, patches: Tensor, adapters: BatchAdapters | None = None) -> Tensor:
        """Latent patches [N, P, D] -> LM input embeddings [N, H]."""
        return adapted(self.enc_to_lm_proj, self.feat_encoder(patches), adapters, "enc_to_lm_proj")

    def embed_text(self, token_ids: Tensor) -> Tensor:
        """Text token ids [T] -> LM input embeddings [T, H]."""
        return self.base_lm.embed_tokens(token_ids) * self.config.lm_config.embedding_scale

    def embeddings(
        self, token_ids: Tensor | None, audio: Tensor | None, is_audio: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """What `run_language_models` takes of T positions: (embeds, audio_embeds, audio_mask).

        token_ids [T], None where all is audio. audio [T, H]: embedded patches, of no meaning at text; None
        where there are none. is_audio [T] bool, None where all is.
        """
        if is_audio is None:
            return audio, audio, None
        text, mask = self.embed_text(token_ids), is_audio[:, None]
        nothing = torch.zeros_like(text if audio is None else audio)
        if audio is None:
            return text, nothing, mask
        audio = torch.where(mask, audio, nothing)
        return torch.where(mask, audio, text.to(audio.dtype)), audio, mask

    def run_language_models(
        self,
        embeds: Tensor,
        audio_embeds: Tensor,
        audio_mask: Tensor | None,
        positions: Tensor,
        attention: Attention,
        adapters: BatchAdapters | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Both language models over a flat batch.

        embeds [T, H]: text or audio embedding per position. audio_embeds [T, H]: the same at audio
        positions, zero at text. audio_mask [T, 1], or None when every position is audio, as in decode.
        adapters: of the positions. Returns (lm_hidden, residual_hidden), both [T, H]; quantisation applies
        to audio positions only.
        """
        rope = self.base_lm.cos_sin(positions)
        hidden = self.base_lm(embeds, rope, attention, None, deltas_of(adapters, "base_lm"))
        quantized = self.fsq_layer(hidden)
        hidden = quantized if audio_mask is None else torch.where(audio_mask, quantized, hidden)
        if self.config.concat_residual:
            both = torch.cat([hidden, audio_embeds], dim=-1)
            residual_input = adapted(self.fusion_concat_proj, both, adapters, "fusion_concat_proj")
        else:
            residual_input = hidden + audio_embeds
        residual_rope = None if self.residual_lm.rope is None else rope
        deltas = deltas_of(adapters, "residual_lm")
        return hidden, self.residual_lm(residual_input, residual_rope, attention, None, deltas)

    def lm_hidden_states(
        self,
        token_ids: Tensor,
        features: Tensor,
        audio_mask: Tensor,
        positions: Tensor,
        attention: Attention,
        adapters: BatchAdapters | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Hidden states of a flat batch given as parallel arrays, the form training uses.

        token_ids [T], features [T, P, D] (ignored at text), audio_mask [T] bool, positions [T], adapters of
        the positions.
        Returns (lm_hidden, residual_hidden), both [T, H].
        """
        embeds = self.embeddings(token_ids, self.encode_patches(features, adapters), audio_mask)
        return self.run_language_models(*embeds, positions, attention, adapters)

    def dit_condition(
        self, lm_hidden: Tensor, residual_hidden: Tensor, adapters: BatchAdapters | None = None
    ) -> Tensor:
        """What the DiT is conditioned on: two hidden vectors [N, H] -> mu [N, 1 or 2, h]."""
        first = adapted(self.lm_to_dit_proj, lm_hidden, adapters, "lm_to_dit_proj")
        second = adapted(self.res_to_dit_proj, residual_hidden, adapters, "res_to_dit_proj")
        if self.config.two_condition_tokens:
            return torch.stack([first, second], dim=1)
        return (first + second)[:, None]

    def stop_logits(self, lm_hidden: Tensor) -> Tensor:
        """[N, H] -> [N, 2]; class 1 means that the patch made from this hidden state is the last."""
        return self.stop_head(F.silu(self.stop_proj(lm_hidden)))
