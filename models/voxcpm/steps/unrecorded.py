"""Steps that are computed as they come: any batch, in tensors of its own size.

A CPU knows no others. Where there are recorded ones, these are for what no program has room for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from engine.attention import AttentionBackend, AttentionBatch, PagedAttention
from engine.device.staging import upload
from engine.kv_cache.pool import KVPool
from models.lora.rows import BatchAdapters, RowAdapters
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.requests.generation import GenerationState
from models.voxcpm.requests.prompt import key_patches
from models.voxcpm.steps.step import Draft, Hidden, Positions, hidden_states, next_patches
from models.voxcpm.steps.step_ahead import Part

if TYPE_CHECKING:
    from models.lora.bank import AdapterBank

MakeNoise = Callable[[GenerationState, int], np.ndarray]


class UnrecordedSteps:
    """See the module.

    Args:
        make_noise: of a request's state and a patch index: float32 [P, D], temperature included.
        adapters: where those of requests are in slots; elsewhere requests hold them in the form of the model.
    """

    def __init__(
        self,
        model: VoxCPMModel,
        solver: FlowSolver,
        backend: AttentionBackend,
        pool: KVPool,
        make_noise: MakeNoise,
        adapters: AdapterBank | None = None,
    ) -> None:
        self._model, self._solver, self._make_noise = model, solver, make_noise
        self._backend, self._pool, self._adapters = backend, pool, adapters
        weight = model.base_lm.norm.weight
        self._device, self._dtype = weight.device, weight.dtype
        self._patch_shape = (model.config.patch_size, model.config.feat_dim)

    @torch.inference_mode()
    def compute(self, parts: list[Part], noise: np.ndarray | None = None) -> tuple[Tensor, Tensor]:
        """Everything but audio: patches fp32 [N, P, D] and stop decisions [N] of the parts that sample.

        noise: float32 [N, P, D] of these, where it is made already; see `noise_of`.
        """
        named = [part.state.adapter for part in parts]
        if self._adapters is None:
            return self._compute_with(parts, RowAdapters.of(named), noise)
        groups = self._adapters.groups(named)
        made = [self._compute_in_slots([parts[i] for i in group]) for group in groups]
        if len(made) == 1:
            return made[0]
        order = np.argsort([i for group in groups for i in group if parts[i].samples])
        patches, stops = (torch.cat(pieces) for pieces in zip(*made, strict=True))
        order = upload(order, self._device)
        return patches[order], stops[order]

    def noise_of(self, parts: list[Part]) -> np.ndarray:
        """What `compute` makes patches from, float32 [N, P, D]."""
        noise = [self._make_noise(part.state, part.index) for part in parts if part.samples]
        return np.stack(noise) if noise else np.zeros((0, *self._patch_shape), np.float32)

    def _compute_in_slots(self, parts: list[Part]) -> tuple[Tensor, Tensor]:
        from models.lora.slot_rows import SlotRows

        slots = self._adapters.place([part.state.adapter for part in parts])
        named = max(slots) >= 0
        rows = SlotRows(self._adapters.generation, np.array(slots, np.int32)) if named else None
        made = self._compute_with(parts, rows, None)
        self._adapters.read(slots)
        return made

    def _compute_with(
        self, parts: list[Part], adapters: BatchAdapters | None, noise: np.ndarray | None
    ) -> tuple[Tensor, Tensor]:
        batch = AttentionBatch(
            [part.start for part in parts],
            [len(part.keys) for part in parts],
            [part.block_table for part in parts],
        )
        attention = PagedAttention(self._backend, self._pool, self._backend.plan(batch))
        of_positions = adapters and adapters.repeated(batch.counts)
        hidden = hidden_states(self._model, self._positions(parts, of_positions), attention, of_positions)
        sampling = [i for i, part in enumerate(parts) if part.samples]
        if not sampling:
            nothing = torch.zeros(0, *self._patch_shape, device=self._device)
            return nothing, nothing[:, 0, 0].long()
        noise = self.noise_of(parts) if noise is None else noise
        chosen = adapters and adapters.chosen(sampling)
        return self._patches_of([parts[i] for i in sampling], noise, hidden, chosen)

    def _positions(self, parts: list[Part], adapters: BatchAdapters | None) -> Positions:
        keys = [key for part in parts for key in part.keys]
        places = np.concatenate([np.arange(part.start, part.start + len(part.keys)) for part in parts])
        ends = np.cumsum([len(part.keys) for part in parts])[[part.samples for part in parts]] - 1
        positions = upload(places, self._device)
        last = upload(ends, self._device) if len(ends) < len(keys) else None
        spoken = np.array([isinstance(key, bytes) for key in keys])
        audio = None
        if spoken.any():
            patches = self._latents([key for key in keys if isinstance(key, bytes)])
            audio = self._model.encode_patches(patches, adapters and adapters.chosen(spoken))
            if spoken.all():
                return Positions(positions, audio=audio, ends=last)
        is_audio = upload(spoken, self._device)
        if audio is not None:
            everywhere = audio.new_zeros(len(keys), audio.shape[1])
            everywhere[is_audio] = audio
            audio = everywhere
        token_ids = upload(np.array([0 if isinstance(key, bytes) else key for key in keys]), self._device)
        return Positions(positions, token_ids, audio, is_audio, last)

    def _patches_of(
        self, parts: list[Part], noise: np.ndarray, hidden: Hidden, adapters: BatchAdapters | None
    ) -> tuple[Tensor, Tensor]:
        """The parts may want different numbers of solver steps."""
        groups: dict[int, list[int]] = {}
        for row, part in enumerate(parts):
            groups.setdefault(part.state.num_steps, []).append(row)
        if len(groups) == 1:
            return next_patches(self._model, self._solver, hidden, self._draft(parts, noise), adapters)
        patches = torch.empty(len(parts), *self._patch_shape, device=self._device)
        stops = torch.empty(len(parts), dtype=torch.int64, device=self._device)
        for rows in groups.values():
            some = Hidden(*(states[rows] for states in hidden))
            chosen = adapters and adapters.chosen(rows)
            draft = self._draft([parts[row] for row in rows], noise[rows])
            patches[rows], stops[rows] = next_patches(self._model, self._solver, some, draft, chosen)
        return patches, stops

    def _draft(self, parts: list[Part], noise: np.ndarray) -> Draft:
        """The draft for parts with one number of solver steps. After text the patch before is zeros."""
        silence = bytes(4 * self._patch_shape[0] * self._patch_shape[1])
        last = [key if isinstance(key := part.keys[-1], bytes) else silence for part in parts]
        guidance = [part.state.cfg_value for part in parts]
        guided = any(value != 1.0 for value in guidance)
        return Draft(
            upload(noise, self._device),
            self._latents(last),
            upload(np.array(guidance, np.float32), self._device)[:, None, None] if guided else None,
            parts[0].state.num_steps,
        )

    def _latents(self, keys: list[bytes]) -> Tensor:
        return upload(key_patches(keys, *self._patch_shape), self._device).to(self._dtype)
