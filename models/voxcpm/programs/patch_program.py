"""The second part of a step at fixed addresses: flow matching, hidden states in and patches out.

A program has room for some rows. What a batch leaves unused is padding, whose patches go to the spare slot.
The patches become audio and results beside the next step (`models.voxcpm.programs.waveform_programs`):

    program.fill([row, row])
    launched = program.launch(num_steps=10)       # after the language program that left the hidden states
    for result in launched.results(): ...         # latents, audio, stop decision of each row
"""

from __future__ import annotations

import sys
from collections.abc import Sequence as Rows
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from engine.device.staging import HostCopy
from engine.layers.low_rank import turns_of
from engine.programs.inputs import Fields, Inputs
from models.transformer.rehearsal import few_layers
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.programs.language_program import Conditions, adapter_fields, slot_rows
from models.voxcpm.programs.program import StepProgram
from models.voxcpm.programs.waveform_programs import PatchShape, WaveformPrograms
from models.voxcpm.steps.step import Draft, Hidden, next_patches
from models.voxcpm.vae.streaming_vae import StreamingDecoder
from models.voxcpm.vae.waveform_streams import LastPatches

if TYPE_CHECKING:
    from models.lora.bank import Generation


REHEARSED_STEPS = 3
"""Of the solver: a first, a last and one between them launch all that ten do."""


class PatchRow(NamedTuple):
    """What one patch is made from, beside hidden states and the patch before it."""

    slot: int
    noise: np.ndarray
    """float32 [P, D], temperature included."""
    cfg_value: float
    fresh: bool = False
    """Its stream begins with this patch, whatever its slot holds."""
    adapter: int = -1
    """The slot of its adapter, for a program that has adapters."""
    decoder: StreamingDecoder | None = None
    """Its adapter's own; None where the model's serves it."""


class PatchResult(NamedTuple):
    """One row's patch: latents float32 [P, D], audio float32 [patch_samples], and whether it is the last."""

    latents: np.ndarray
    audio: np.ndarray
    stop: bool
    peak: float
    """Largest magnitude of the audio; NaN where latents are not finite."""


class Launched:
    """Patches that are under way, of the first `num_rows` rows of a program."""

    def __init__(self, outputs: HostCopy, num_rows: int, patch: tuple[int, int]) -> None:
        self._outputs, self._num_rows, self._patch = outputs, num_rows, patch
        self._results: list[PatchResult] | None = None

    def results(self) -> list[PatchResult]:
        """The rows that were filled in, in order; waits for the device."""
        if self._results is None:
            self._results = self._read(self._outputs.wait())
            self._outputs.give_back()
        return self._results

    def _read(self, values: np.ndarray) -> list[PatchResult]:
        split = self._patch[0] * self._patch[1]
        latents, audio = values[:, :split].reshape(-1, *self._patch), values[:, split:-2]
        return patch_results(latents, audio, values[:, -2], values[:, -1])[: self._num_rows]


def patch_results(
    latents: np.ndarray, audio: np.ndarray, stops: np.ndarray, peaks: np.ndarray
) -> list[PatchResult]:
    """Of latents [N, P, D], audio [N, samples], stops and peaks [N]; the results hold copies."""
    finite = np.isfinite(latents).all(axis=(1, 2))
    rows = zip(latents, audio, (stops != 0).tolist(), np.where(finite, peaks, np.nan).tolist(), strict=True)
    return [PatchResult(row.copy(), samples.copy(), stop, peak) for row, samples, stop, peak in rows]


class PatchProgram(StepProgram):
    """See the module. Programs that share `streams` or `waveforms` must not run at the same time.

    Args:
        waveforms: where patches become audio; None on a rank that makes none.
        adapters: the slots that rows may name; None for a program without adapters.
    """

    def __init__(
        self,
        shape: PatchShape,
        num_steps: int,
        model: VoxCPMModel,
        solver: FlowSolver,
        streams: LastPatches,
        conditions: Conditions,
        waveforms: WaveformPrograms | None,
        adapters: Generation | None = None,
    ) -> None:
        super().__init__()
        self.shape, self.num_steps, self.adapters = shape, num_steps, adapters
        self._model, self._solver, self._streams = model, solver, streams
        self._conditions, self._waveforms = conditions, waveforms
        self._patch = (model.config.patch_size, model.config.feat_dim)
        self._dtype = model.base_lm.norm.weight.dtype
        fields = _fields(shape, self._patch) | adapter_fields(adapters, shape.rows)
        self._inputs = Inputs(fields, streams.latents.device)
        self._decoders: list[StreamingDecoder | None] = []
        self.fill([])

    def fill(self, rows: Rows[PatchRow]) -> None:
        """Lay a batch into the inputs."""
        self._decoders = [row.decoder for row in rows]
        host, spare = self._inputs.take(), self._streams.spare_slot
        host["slots"][:] = spare
        for place, row in enumerate(rows):
            host["slots"][place] = row.slot
            host["noise"][place] = row.noise
            host["cfg_values"][place] = row.cfg_value
        if self.adapters is not None:
            unused = [-1] * (self.shape.rows - len(rows))
            host["adapters"][:] = turns_of(np.array([row.adapter for row in rows] + unused))
        if self.shape.begins:
            host["fresh"][:] = spare
            host["fresh"][: len(rows)] = [row.slot if row.fresh else spare for row in rows]
        self._inputs.send()

    @torch.inference_mode()
    def launch(self, num_steps: int) -> Launched:
        """Compute what was filled in; returns before the device is done.

        A number of solver steps that is not the program's own is computed unrecorded, by kernels that were
        launched before.
        """
        self._make(num_steps)
        decoders, self._decoders = self._decoders, [None] * len(self._decoders)  # nobody keeps them alive
        return Launched(self._waveforms.launch(self.shape, decoders), len(decoders), self._patch)

    @torch.inference_mode()
    def replay(self, first: bytes, second: bytes) -> None:
        """See `StepProgram.replay`; what becomes of the patches is rank 0's."""
        self._inputs.staging.receive(first)
        self._make(int.from_bytes(second, sys.byteorder))

    def _make(self, num_steps: int) -> None:
        with self._along(self._inputs.staging.last, np.array([num_steps])):
            if num_steps == self.num_steps:
                self._launch()
            else:
                self.compute(num_steps)

    @torch.inference_mode()
    def compute(self, num_steps: int | None = None) -> None:
        """See `StepProgram.compute`."""
        inputs, latents = self._inputs, self._streams.latents
        slots, rows = inputs["slots"], self.shape.rows
        if self.shape.begins:
            latents.index_fill_(0, inputs["fresh"], 0.0)
        last = latents[slots].to(self._dtype)
        hidden = Hidden(self._conditions.lm[:rows], self._conditions.residual[:rows])
        guidance = inputs["cfg_values"][:, None, None]
        draft = Draft(inputs["noise"], last, guidance, num_steps or self.num_steps)
        adapters = slot_rows(self.adapters, inputs)
        patches, stops = next_patches(self._model, self._solver, hidden, draft, adapters)
        latents[slots] = patches
        if self._waveforms is not None:
            begins = inputs["fresh"] if self.shape.begins else None
            self._waveforms.hand_over(patches, stops, slots, begins)

    @torch.inference_mode()
    def rehearse(self) -> None:
        """See `StepProgram.rehearse`: by fewer steps of the solver and few layers."""
        self._solver.schedule(self.num_steps)
        with few_layers():
            self.compute(min(self.num_steps, REHEARSED_STEPS))


def _fields(shape: PatchShape, patch: tuple[int, int]) -> Fields:
    fields: Fields = {
        "slots": (torch.int64, (shape.rows,)),
        "noise": (torch.float32, (shape.rows, *patch)),
        "cfg_values": (torch.float32, (shape.rows,)),
    }
    return fields | {"fresh": (torch.int64, (shape.rows,))} if shape.begins else fields
