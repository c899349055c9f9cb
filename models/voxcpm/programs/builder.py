"""Builds the programs of a runner, and has their kernels compiled ahead where there is CUDA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from engine.attention import AttentionBackend
from engine.device.cuda_graphs import GraphRecorder, Rehearsal
from engine.kv_cache.pool import KVPool
from engine.parallel.part import Part
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.programs.language_program import Conditions, LanguageProgram, LanguageShape
from models.voxcpm.programs.patch_program import REHEARSED_STEPS, PatchProgram
from models.voxcpm.programs.step_programs import Lead, ProgramPlan, Report, StepPrograms
from models.voxcpm.programs.waveform_programs import PatchShape, WaveformPrograms
from models.voxcpm.vae.waveform_streams import LastPatches, WaveformStreams

if TYPE_CHECKING:
    from models.lora.bank import AdapterBank, Generation

WAVEFORM_SHARE = 0.2
"""Of the time that all programs take to record, about."""
COMPILED_SHARE = 0.5
"""Of the time that programs take whose kernels no earlier start has compiled, about."""
PLAIN_SHARE = 0.45
"""Of the time that all programs take to record where some have adapters, those without, about."""


class ProgramBuilder:
    """See the module.

    Args:
        streams: `WaveformStreams` where patches become audio.
        adapters: where those of requests are in slots.
        part: what `model` is of the network.
    """

    def __init__(
        self,
        model: VoxCPMModel,
        streams: LastPatches,
        backend: AttentionBackend,
        pool: KVPool,
        adapters: AdapterBank | None,
        part: Part,
    ) -> None:
        self._model, self._streams, self._backend, self._pool = model, streams, backend, pool
        self._adapters, self._part = adapters, part
        self._device = streams.latents.device

    def compile_ahead(self, plan: ProgramPlan, report: Report = lambda share: None) -> int:
        """On CUDA: the kernels of all programs; how many were compiled. Other ranks have no part in it."""
        if self._device.type != "cuda":
            return 0
        from engine.kernels.ahead import compile_ahead

        slots = None
        if self._adapters is not None:
            shape = self._adapters.generation.layout.shape
            slots = shape.rank, sorted(shape.kinds)
        keys = self._pool.tensor
        what = repr((plan, self._model.config, keys.shape, keys.dtype, self._part.size, slots))
        with self._part.alone():
            return compile_ahead(
                lambda: self.rehearse(plan), what, lambda share: report(COMPILED_SHARE * share), self._device
            )

    @torch.inference_mode()
    def rehearse(self, plan: ProgramPlan) -> None:
        """Launch once what the programs of `plan` launch.

        Kernels may be left out: nothing that it computes is kept, not even the constants of a solver.
        """
        plan = replace(plan, num_steps=min(plan.num_steps, REHEARSED_STEPS))
        solver = FlowSolver(self._model.dit, self._model.config.mean_mode)
        programs = self.build(plan, Rehearsal, solver)
        if self._adapters is not None:
            programs.record_adapted(self._adapters.generation)
            self._adapters.warm_up()
        if isinstance(self._streams, WaveformStreams):
            self._streams.warm_up()
        self._streams.latents.zero_()

    @torch.inference_mode()
    def build(
        self,
        plan: ProgramPlan,
        make_recorder: Callable[..., GraphRecorder],
        solver: FlowSolver,
        report: Report = lambda share: None,
        lead: Lead | None = None,
    ) -> StepPrograms:
        """All programs of `plan`. make_recorder: of what is recorded on a stream of its own, see
        `GraphRecorder`. Ranks build together, and rank 0 has the others launch along by `lead`.
        """
        patch_shapes, waveforms = plan.patch_shapes(), None
        if isinstance(self._streams, WaveformStreams):
            waveforms = WaveformPrograms(
                patch_shapes,
                self._streams,
                self._model.config,
                make_recorder(),
                lambda share: report(WAVEFORM_SHARE * share),
                adapted=self._adapters is not None,
            )
        conditions = Conditions(patch_shapes[0].rows, self._model)

        def language(shape: LanguageShape, adapters: Generation | None) -> LanguageProgram:
            return LanguageProgram(
                shape, self._model, self._streams, self._backend, self._pool, conditions, adapters
            )

        def patch(shape: PatchShape, adapters: Generation | None) -> PatchProgram:
            return PatchProgram(
                shape, plan.num_steps, self._model, solver, self._streams, conditions, waveforms, adapters
            )

        recorder = make_recorder(first=True)
        return StepPrograms(
            plan,
            language,
            patch,
            recorder,
            lambda share: report(WAVEFORM_SHARE + (1 - WAVEFORM_SHARE) * share),
            lead,
        )
