"""Plain generation for a look at a model in training: whole prefixes recomputed at every step, no cache.

The product's engine does the same with a KV cache; this needs torch alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.requests.tokenizer import AUDIO_START, REFERENCE_END, REFERENCE_START
from models.voxcpm.training.lm.flat_attention import flat_attention
from models.voxcpm.vae.audio_vae import AudioVAE

SHORTEST_PATCHES = 4


@dataclass
class Speaking:
    """One utterance under way: the prefix's token ids and patches, and the patches made so far."""

    token_ids: list[int]
    reference: Tensor | None
    patches: list[Tensor]
    stopped: bool = False

    def prefix(self) -> list[int]:
        """Token ids up to and with the audio marker; -1 stands for a reference patch."""
        reference = (
            [] if self.reference is None else [REFERENCE_START, *[-1] * len(self.reference), REFERENCE_END]
        )
        return [*reference, *self.token_ids, AUDIO_START]


@torch.inference_mode()
def generate(
    model: VoxCPMModel,
    texts: list[list[int]],
    references: list[Tensor | None],
    most_patches: int,
    num_steps: int = 10,
    cfg_value: float = 2.0,
) -> list[Speaking]:
    """Speak all texts together; each ends at its stop or after `most_patches`."""
    device = model.stop_head.weight.device
    shape = (model.config.patch_size, model.config.feat_dim)
    solver = FlowSolver(model.dit)
    speaking = [Speaking(ids, reference, []) for ids, reference in zip(texts, references, strict=True)]
    for _ in range(most_patches):
        active = [s for s in speaking if not s.stopped]
        if not active:
            break
        lm_hidden, residual_hidden = _last_hidden(model, active)
        cond = torch.stack(
            [s.patches[-1] if s.patches else torch.zeros(shape, device=device) for s in active]
        )
        noise = torch.randn(len(active), *shape, device=device)
        guidance = torch.full((len(active), 1, 1), cfg_value, device=device)
        made = solver.solve(noise, model.dit_condition(lm_hidden, residual_hidden), cond, num_steps, guidance)
        stops = model.stop_logits(lm_hidden).argmax(-1).tolist()
        for one, patch, stop in zip(active, made, stops, strict=True):
            one.patches.append(patch)
            one.stopped = bool(stop) and len(one.patches) >= SHORTEST_PATCHES
    return speaking


def _last_hidden(model: VoxCPMModel, active: list[Speaking]) -> tuple[Tensor, Tensor]:
    """Hidden states of each utterance's last position: two of [N, H]."""
    device = model.stop_head.weight.device
    ids, features, lengths = [], [], []
    for one in active:
        prefix = one.prefix()
        ids += prefix + [-1] * len(one.patches)
        features += ([] if one.reference is None else list(one.reference)) + one.patches
        lengths.append(len(prefix) + len(one.patches))
    token_ids = torch.tensor(ids, device=device)
    audio_mask = token_ids < 0
    flat = torch.zeros(len(ids), model.config.patch_size, model.config.feat_dim, device=device)
    if features:
        flat[audio_mask] = torch.stack(features).float()
    positions = torch.cat([torch.arange(n) for n in lengths]).to(device)
    ends = torch.tensor([0, *lengths]).cumsum(0).to(device, torch.int32)
    attention = flat_attention(ends, max(lengths))
    hidden = model.lm_hidden_states(token_ids.clamp_min(0), flat, audio_mask, positions, attention)
    last = ends[1:].long() - 1
    return hidden[0][last], hidden[1][last]


@torch.inference_mode()
def waveforms(vae: AudioVAE, speaking: list[Speaking]) -> list[Tensor]:
    """Decode each utterance in fp32, whatever autocast says: float32 samples on the CPU."""
    audio = []
    for one in speaking:
        latents = torch.cat(one.patches).T[None].float()
        with torch.autocast(latents.device.type, enabled=False):
            audio.append(vae.decode(latents)[0, 0].cpu())
    return audio
