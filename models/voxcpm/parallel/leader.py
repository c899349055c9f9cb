"""Rank 0's runner: what it computes up to patches, all ranks compute, each its part."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from engine.parallel.leading import Leading
from engine.parallel.part import Part
from engine.parallel.ranks import Ranks
from engine.sequence import Sequence
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.parallel.rank import PROGRAMS, PUT, STEP
from models.voxcpm.programs.program import Along
from models.voxcpm.programs.step_programs import Lead, ProgramPlan, Report, StepPrograms
from models.voxcpm.runner import VoxCPMRunner
from models.voxcpm.steps.packing import pack
from models.voxcpm.steps.step_ahead import Part as StepPart
from models.voxcpm.vae.audio_vae import AudioVAE
from models.voxcpm.vae.waveform_streams import WaveformStreams


class LeadingStreams(WaveformStreams):
    """`WaveformStreams` whose last patches other ranks know, too.

    followed: whether they need to; steps that are computed as they come bring theirs along.
    """

    def __init__(self, ranks: Ranks, *args: Any) -> None:
        super().__init__(*args)
        self.followed, self._ranks = False, ranks

    def put(self, slots: np.ndarray, patches: np.ndarray) -> None:
        """See `LastPatches.put`."""
        self._tell(slots, patches)
        super().put(slots, patches)

    def decode(self, sequences: list[Sequence], patches: Tensor) -> Tensor:
        """See `WaveformStreams.decode`."""
        audio = super().decode(sequences, patches)
        if self.followed:
            self._tell(np.array(self.slots(sequences)), patches.float().cpu().numpy())
        return audio

    def _tell(self, slots: np.ndarray, patches: np.ndarray) -> None:
        if self.followed:
            with self._ranks.step(PUT, slots.astype(np.int64), patches.astype(np.float32)):
                pass


class LeadingRunner(Leading, VoxCPMRunner):
    """`VoxCPMRunner` of several ranks."""

    def __init__(self, ranks: Ranks, model: VoxCPMModel, vae: AudioVAE, *, part: Part, **sizes: Any) -> None:
        self.lead(ranks, part, model.base_lm.norm.weight.device)
        super().__init__(model, vae, part=part, **sizes)

    @property
    def attention_backend(self) -> str:
        """The name of the one that serves, which is to serve on all ranks."""
        return self._backend.name

    def close(self) -> None:
        """End the other ranks, and what this one has with them."""
        self._programs = None
        self.end(self._recorders)

    def build(
        self,
        plan: ProgramPlan,
        record: bool,
        report: Report = lambda share: None,
        lead: Lead | None = None,
    ) -> StepPrograms:
        """See `VoxCPMRunner.build`."""
        own = partial(super().build, plan, record, report, lead or self._lead)
        built = self.build_along({"plan": asdict(plan), "record": record}, own)
        self._streams.followed = True
        return built

    def _lead(self, number: int) -> Along:
        return lambda first, second: self._ranks.step(PROGRAMS + number, first, second)

    def _make_streams(self, vae: AudioVAE, count: int) -> LeadingStreams:
        return LeadingStreams(
            self._ranks, vae, count, self.config.patch_size, self.config.prompt_context_patches
        )

    def _compute(self, parts: list[StepPart]) -> tuple[Tensor, Tensor]:
        noise = self.unrecorded.noise_of(parts)
        with self._ranks.step(STEP, *pack(parts, noise)):
            return self.unrecorded.compute(parts, noise)
