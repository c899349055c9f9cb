"""Runs VoxCPM on a device for the engine: one call computes one step of a mixed batch.

    key streams -> embeddings -> language models (paged KV) -> flow matching -> VAE -> patches and audio

Everything it needs of a sequence stands in its key stream (`requests/prompt.py`) and its `GenerationState`,
so a sequence can be preempted and computed again, or start from patches made elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from engine.attention import select_backend
from engine.cpu.threads import StepThreads
from engine.device.cuda_graphs import GraphRecorder, Rehearsal
from engine.device.devices import check_device, on_device, runs_triton
from engine.kv_cache.host_memory import HostMemory
from engine.kv_cache.pool import KVPool
from engine.model_runner import Meanwhile, StepResult
from engine.parallel.part import WHOLE, Part
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence
from models.speech import Flaw
from models.voxcpm.adapters import make_bank
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.noise import patch_noise
from models.voxcpm.programs.builder import COMPILED_SHARE, PLAIN_SHARE, ProgramBuilder
from models.voxcpm.programs.patch_program import PatchResult, patch_results
from models.voxcpm.programs.runner import ProgramRunner
from models.voxcpm.programs.step_programs import Lead, ProgramPlan, Report, StepPrograms
from models.voxcpm.requests.generation import GenerationState
from models.voxcpm.steps.step_ahead import Made, StepAhead, part_of
from models.voxcpm.steps.step_ahead import Part as StepPart
from models.voxcpm.steps.unrecorded import UnrecordedSteps
from models.voxcpm.vae.audio_vae import AudioVAE
from models.voxcpm.vae.waveform_streams import LastPatches, WaveformStreams
from models.voxcpm.watch.watch import SILENCE_LEVEL

if TYPE_CHECKING:
    from models.lora.bank import AdapterBank
    from models.voxcpm.options import AdapterRoom

NoiseSource = Callable[[int, int, int, int], np.ndarray]
"""(seed, patch index, patch_size, feat_dim) -> float32 [patch_size, feat_dim]."""


@dataclass(frozen=True)
class Patch:
    """What a step yields for a sequence: latents float32 [P, D] and their audio float32 [patch_samples]."""

    index: int
    latents: np.ndarray
    audio: np.ndarray
    flaw: Flaw = ""
    """See `SpeechOutput.flaw`."""
    silent: bool = False


class VoxCPMRunner:
    """The `engine.model_runner.ModelRunner` of VoxCPM.

    num_blocks * block_size positions of KV cache are allocated at once, and host_slots blocks on the host;
    max_num_seqs bounds the number of waveform streams decoded together. threads: of a CPU; with them the next
    step begins beside the audio of this one, see `steps/step_ahead.py`. part: what `model` is of the network.
    vae: None for a rank above 0, which makes patches and no audio, and is given its steps
    (`models.voxcpm.parallel.rank`).
    """

    def __init__(
        self,
        model: VoxCPMModel,
        vae: AudioVAE | None,
        *,
        num_blocks: int,
        block_size: int,
        max_num_seqs: int,
        max_model_len: int,
        host_slots: int = 0,
        attention_backend: str = "auto",
        noise: NoiseSource = patch_noise,
        threads: StepThreads | None = None,
        adapter_room: AdapterRoom | None = None,
        part: Part = WHOLE,
    ) -> None:
        weight = model.base_lm.norm.weight
        self.model, self.config = model, model.config
        self.device, self.dtype = weight.device, weight.dtype
        self.num_blocks, self.block_size, self.max_model_len = num_blocks, block_size, max_model_len
        lm = self.config.lm_config
        queries, keys = part.heads(lm.num_attention_heads, lm.num_key_value_heads)
        heads, width = (len(queries), len(keys)), lm.head_dim
        self._backend = select_backend(attention_backend, self.device, self.dtype, width, block_size, heads)
        cache = (num_blocks, block_size, heads[1], width, self.dtype, self.device)
        self._pool = KVPool(model.num_kv_layers, *cache)
        self._solver = FlowSolver(model.dit, self.config.mean_mode)
        self._noise = noise
        self._patch_shape = (self.config.patch_size, self.config.feat_dim)
        self._patch_seconds = self.config.patch_seconds
        self._streams = self._make_streams(vae, max_num_seqs)
        self._programs: ProgramRunner | None = None
        self._recorders: list[GraphRecorder] = []
        self.adapters: AdapterBank | None = None
        """Where adapters are in slots; elsewhere requests hold them in the form of the model."""
        if adapter_room is not None and runs_triton(self.device):
            self.adapters = make_bank(model, adapter_room)
        self.builder = ProgramBuilder(model, self._streams, self._backend, self._pool, self.adapters, part)
        self.unrecorded = UnrecordedSteps(
            model, self._solver, self._backend, self._pool, self._noise_of, self.adapters
        )
        self._ahead: StepAhead | None = None
        if threads is not None and self.adapters is None:  # slots are for one thread
            self._ahead = StepAhead(self._compute, threads, block_size)
        self.host_memory = HostMemory(self._pool, host_slots, self._settle) if host_slots else None
        self.meanwhile: Meanwhile = lambda batch: None
        self.probe: Callable[[torch.device], None] = check_device
        """Raises DeviceLostError when the device computes no more; a test of lost ones may put in another."""

    def _make_streams(self, vae: AudioVAE | None, count: int) -> LastPatches:
        if vae is None:
            return LastPatches(count, self._patch_shape, self.device)
        return WaveformStreams(vae, count, self.config.patch_size, self.config.prompt_context_patches)

    @torch.inference_mode()
    def prepare(self, plan: ProgramPlan, report: Report = lambda share: None, record: bool = True) -> None:
        """Build the programs of `plan` and, on CUDA, `record` them. Raises EngineError, RuntimeError."""
        with on_device(self.device):
            compiled = COMPILED_SHARE if self.builder.compile_ahead(plan, report) else 0.0
            share_of_plain = 1.0 if self.adapters is None else PLAIN_SHARE

            def recorded(share: float) -> None:
                report(compiled + (1 - compiled) * share)

            programs = self.build(plan, record, lambda share: recorded(share_of_plain * share))
            if self.adapters is not None:
                programs.record_adapted(
                    self.adapters.generation, lambda share: recorded(PLAIN_SHARE + (1 - PLAIN_SHARE) * share)
                )
                self.adapters.warm_up()
            if self.device.type == "cuda":
                self._streams.warm_up()
        self._programs = ProgramRunner(
            programs, self._streams, self.block_size, self._noise_of, self._result, self.adapters
        )

    @torch.inference_mode()
    def build(
        self,
        plan: ProgramPlan,
        record: bool,
        report: Report = lambda share: None,
        lead: Lead | None = None,
    ) -> StepPrograms:
        """All programs, see `ProgramBuilder.build`."""
        self._recorders = []

        def make_recorder(first: bool = False) -> GraphRecorder:
            self._recorders.append(GraphRecorder(self.device, first) if record else Rehearsal(first))
            return self._recorders[-1]

        return self.builder.build(plan, make_recorder, self._solver, report, lead)

    @torch.inference_mode()
    def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        """Compute the scheduled positions; see `engine.model_runner.ModelRunner.run`."""
        with on_device(self.device):
            if self._programs is None:
                return self._run_freely(batch)
            return self._programs.run(batch, self._run_freely, self.meanwhile)

    def _settle(self) -> None:
        if self._ahead is not None:
            self._ahead.settle()

    def check_device(self) -> None:
        """See `engine.model_runner.ModelRunner.check_device`."""
        self.probe(self.device)

    def _run_freely(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        """Any batch, in tensors of its own size."""
        results: list[StepResult | None] = [None] * len(batch)
        made = self._make_patches(batch)
        if not made.rows:
            return results
        sequences = [batch[i].sequence for i in made.rows]
        # A first patch is waited for: nothing may slow its audio down.
        begins = any(sequence.num_new_tokens == 0 for sequence in sequences)
        if self._ahead is not None and not begins:
            self._ahead.launch(batch, made)
        audio = self._streams.decode(sequences, made.patches)
        if self._ahead is not None and begins:
            self._ahead.launch(batch, made)
        parts = (made.patches, audio, made.stops, audio.abs().amax(1))
        found = patch_results(*(part.cpu().numpy() for part in parts))
        for i, patch in zip(made.rows, found, strict=True):
            results[i] = self._result(batch[i].sequence.payload, patch)
        return results

    @property
    def streams(self) -> LastPatches:
        """What the device remembers of sequences between their steps."""
        return self._streams

    def _compute(self, parts: list[StepPart]) -> tuple[torch.Tensor, torch.Tensor]:
        return self.unrecorded.compute(parts)

    def _make_patches(self, batch: Rows[ScheduledSequence]) -> Made:
        """The patches of all rows that sample, in any order."""
        pieces = self._ahead.take(batch) if self._ahead is not None else []
        there = {i for piece in pieces for i in piece.rows}
        rest = [i for i in range(len(batch)) if i not in there]
        if rest:
            patches, stops = self._compute([part_of(batch[i]) for i in rest])
            pieces.append(Made([i for i in rest if batch[i].samples], patches, stops))
        if len(pieces) == 1:
            return pieces[0]
        rows = [i for piece in pieces for i in piece.rows]
        return Made(rows, *(torch.cat(parts) for parts in zip(*(piece[1:] for piece in pieces), strict=True)))

    def close(self) -> None:
        """Ends what only a runner of several ranks has; tensors free themselves."""

    def release(self, sequence: Sequence) -> None:
        """Give back the sequence's waveform stream."""
        self._streams.release(sequence)
        if self._ahead is not None:
            self._ahead.release(sequence)
        if self._programs is not None:
            self._programs.release(sequence)

    def _noise_of(self, state: GenerationState, index: int) -> np.ndarray:
        noise = self._noise(state.seed, index, *self._patch_shape)
        return noise if state.temperature == 1.0 else noise * np.float32(state.temperature)

    def _result(self, state: GenerationState, found: PatchResult) -> StepResult:
        if not math.isfinite(found.peak):
            return StepResult(b"", True, "error", f"patch {state.index} has values that are not finite")
        reason = state.finish_reason(found.stop, found.peak, self._patch_seconds)
        flaw: Flaw = ""
        if state.watch is not None:
            early = state.watch.see(found.latents, found.peak)
            flaw = state.watch.flaw(reason) if reason else early
        patch = Patch(state.index, found.latents, found.audio, flaw, found.peak <= SILENCE_LEVEL)
        state.index += 1
        return StepResult(found.latents.tobytes(), reason is not None, reason, patch)
