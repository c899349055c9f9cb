"""VoxCPM's two transformers over rows of a few tokens, on CUDA: one kernel makes the tokens of a row.

`FusedFlow` takes the Euler steps of `FlowSolver` with one kernel between two calls of the estimator;
`FusedEncoder` is the local encoder. The rotary factors of their rows are constants, computed once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from engine.device.repeats import repeated
from engine.layers.low_rank import NOTHING
from models.transformer.stack import CosSin, Transformer, bidirectional_attention
from models.voxcpm.flow_matching import SolverSchedule
from models.voxcpm.fused.flow_kernels import Placement, Step, flow_step, place_patches
from models.voxcpm.model import LocalDiT, LocalEncoder


class FusedFlow:
    """Integrates over the estimator `dit`, for patches of `patch_size` latents.

    A row is [mu, mu, time, previous patch, noisy patch], or [mu + time, previous patch, noisy patch] in the
    first generation.
    """

    def __init__(self, dit: LocalDiT, patch_size: int) -> None:
        self._decoder = dit.decoder
        self._in_proj, self._cond_proj, self._out_proj = dit.in_proj, dit.cond_proj, dit.out_proj
        self._time_place = 2 if dit.two_condition_tokens else 0
        self._length = self._time_place + 1 + 2 * patch_size
        self._rope = _row_rope(dit.decoder, self._length)
        self._may_repeat = dit.decoder.layers[0].group is None  # ranks number what they exchange

    def integrate(
        self,
        schedule: SolverSchedule,
        noise: Tensor,
        mu: Tensor,
        cond: Tensor,
        cfg_value: Tensor | None,
        deltas: Any = NOTHING,
    ) -> Tensor:
        """See `FlowSolver.integrate`."""
        patch = noise.shape[1]
        tokens = self._prefix(mu, cond, 1 if cfg_value is None else 2)
        targets = [self._target(tokens, mu, embedding) for embedding in schedule.time_embeddings]
        x = noise.float().contiguous()
        if targets:
            place_patches(x, self._in_proj, targets[0])

        def compute() -> Tensor:
            return self._velocity(tokens, patch, deltas)

        again = self._may_repeat and (deltas is NOTHING or not deltas.uses_zeros)
        velocity = repeated(compute) if again else compute
        for size, following in zip(schedule.step_sizes, [*targets, None][1:], strict=True):
            step = Step(velocity(), cfg_value, size)
            x = flow_step(x, step, self._in_proj, following)
        return x

    def _velocity(self, tokens: Tensor, patch: int, deltas: Any) -> Tensor:
        """Tokens [N, L, h] -> [N, patch, D]; the tokens are left as they are."""
        hidden = self._decoder(tokens, self._rope, bidirectional_attention, slice(-patch, None), deltas)
        return self._out_proj(hidden)

    def _prefix(self, mu: Tensor, cond: Tensor, branches: int) -> Tensor:
        """Tokens [branches N, L, h] with what all steps share filled in; mu is zero in the second branch."""
        num_rows = len(mu)
        tokens = mu.new_empty(branches * num_rows, self._length, mu.shape[-1])
        if self._time_place:
            tokens[:num_rows, : self._time_place] = mu
            tokens[num_rows:, : self._time_place] = 0
        place_patches(cond, self._cond_proj, Placement(tokens, self._time_place + 1))
        return tokens

    def _target(self, tokens: Tensor, mu: Tensor, time_embedding: Tensor) -> Placement:
        place = (self._length + self._time_place + 1) // 2
        shift = None if self._time_place else mu[:, 0].contiguous()
        return Placement(tokens, place, time_embedding, self._time_place, shift)


class FusedEncoder(nn.Module):
    """Takes the place of `LocalEncoder` for patches of `patch_size` latents."""

    def __init__(self, encoder: LocalEncoder, patch_size: int) -> None:
        super().__init__()
        self.special_token, self.in_proj, self.encoder = (
            encoder.special_token,
            encoder.in_proj,
            encoder.encoder,
        )
        self._rope = _row_rope(encoder.encoder, 1 + patch_size)

    def forward(self, patches: Tensor) -> Tensor:
        """patches [N, P, D] -> [N, hidden]."""
        weight = self.in_proj.weight
        tokens = weight.new_empty(len(patches), 1 + patches.shape[1], len(weight))
        place_patches(patches, self.in_proj, Placement(tokens, 1, self.special_token))
        return self.encoder(tokens, self._rope, bidirectional_attention, keep=slice(0, 1))[:, 0]


def _row_rope(stack: Transformer, length: int) -> CosSin | None:
    return stack.cos_sin(torch.arange(length, device=stack.norm.weight.device))
