"""What a step computes, from tensors to tensors, without a word with the host: recorded steps are this, and
steps that are computed as they come.

    hidden = hidden_states(model, positions, attention)     # keys and values of the positions are stored then
    patches, stops = next_patches(model, solver, hidden, draft)
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from models.lora.rows import BatchAdapters
from models.transformer.stack import Attention
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.model import VoxCPMModel


class Positions(NamedTuple):
    """T positions of a flat batch.

    Attributes:
        positions: int64 [T], where each stands in its sequence.
        token_ids: int64 [T]; None where all is audio.
        audio: embedded patches [T, H], of no meaning at text; None where there are none.
        is_audio: bool [T]; None where all is audio.
        ends: int64 [N], positions after which a patch comes; None: all of them.
    """

    positions: Tensor
    token_ids: Tensor | None = None
    audio: Tensor | None = None
    is_audio: Tensor | None = None
    ends: Tensor | None = None


class Hidden(NamedTuple):
    """Hidden states of the language model and of the residual one, [N, H]."""

    lm: Tensor
    residual: Tensor


class Draft(NamedTuple):
    """What N patches are made from, beside hidden states.

    noise, last: [N, P, D], `last` the patches before them. guidance: fp32 [N, 1, 1], None where nobody is
    guided. num_steps: of the solver.
    """

    noise: Tensor
    last: Tensor
    guidance: Tensor | None
    num_steps: int


def hidden_states(
    model: VoxCPMModel, inputs: Positions, attention: Attention, adapters: BatchAdapters | None = None
) -> Hidden:
    """The hidden states at the ends of `inputs`. adapters: of its positions."""
    embeds = model.embeddings(inputs.token_ids, inputs.audio, inputs.is_audio)
    lm, residual = model.run_language_models(*embeds, inputs.positions, attention, adapters)
    return Hidden(lm, residual) if inputs.ends is None else Hidden(lm[inputs.ends], residual[inputs.ends])


def next_patches(
    model: VoxCPMModel,
    solver: FlowSolver,
    hidden: Hidden,
    draft: Draft,
    adapters: BatchAdapters | None = None,
) -> tuple[Tensor, Tensor]:
    """Patches fp32 [N, P, D] and stop decisions [N]. adapters: of the rows."""
    stops = model.stop_logits(hidden.lm).argmax(-1)
    mu = model.dit_condition(hidden.lm, hidden.residual, adapters)
    noise, last, guidance, num_steps = draft
    return solver.solve(noise, mu, last, num_steps, guidance, adapters), stops
