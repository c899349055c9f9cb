"""Runs VoxCPM on a device for the engine: one call computes one step of a mixed batch.

    key streams -> embeddings -> language models (paged KV) -> flow matching -> VAE -> patches and audio

Everything it needs of a sequence stands in its key stream (`prompt.py`) and its `GenerationState`, so
a sequence can be preempted and computed again, or start from patches made elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from engine.attention import AttentionBatch, PagedAttention, select_backend
from engine.cuda_graphs import GraphRecorder, Rehearsal
from engine.devices import check_device, on_device, runs_triton
from engine.kv_cache.host_memory import HostMemory
from engine.kv_cache.pool import KVPool
from engine.model_runner import Meanwhile, StepResult
from engine.scheduler import ScheduledSequence
from engine.sequence import Sequence
from engine.staging import upload
from engine.threads import StepThreads
from models.lora.rows import BatchAdapters, RowAdapters
from models.speech import Flaw
from models.voxcpm.adapters import make_bank
from models.voxcpm.audio_vae import AudioVAE
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.generation import GenerationState
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.noise import patch_noise
from models.voxcpm.programs.language_program import Conditions, LanguageProgram, LanguageShape
from models.voxcpm.programs.patch_program import PatchProgram, PatchResult, patch_results
from models.voxcpm.programs.runner import ProgramRunner
from models.voxcpm.programs.step_programs import ProgramPlan, Report, StepPrograms
from models.voxcpm.programs.waveform_programs import PatchShape, WaveformPrograms
from models.voxcpm.prompt import key_patches
from models.voxcpm.step_ahead import Made, Part, StepAhead, part_of
from models.voxcpm.watch import SILENCE_LEVEL
from models.voxcpm.waveform_streams import WaveformStreams

if TYPE_CHECKING:
    from models.lora.bank import AdapterBank, Generation

NoiseSource = Callable[[int, int, int, int], np.ndarray]
"""(seed, patch index, patch_size, feat_dim) -> float32 [patch_size, feat_dim]."""
WAVEFORM_SHARE = 0.2
"""Of the time that all programs take to record, about."""
COMPILED_SHARE = 0.5
"""Of the time that programs take whose kernels no earlier start has compiled, about."""
REHEARSED_STEPS = 3
"""Of the solver: a first, a last and one between them launch all that ten do."""


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
    step begins beside the audio of this one, see `step_ahead.py`.
    """

    def __init__(
        self,
        model: VoxCPMModel,
        vae: AudioVAE,
        *,
        num_blocks: int,
        block_size: int,
        max_num_seqs: int,
        max_model_len: int,
        host_slots: int = 0,
        attention_backend: str = "auto",
        noise: NoiseSource = patch_noise,
        threads: StepThreads | None = None,
        adapter_slots: int = 0,
        adapter_rank: int | None = None,
    ) -> None:
        weight = model.base_lm.norm.weight
        self.model, self.config = model, model.config
        self.device, self.dtype = weight.device, weight.dtype
        self.num_blocks, self.block_size, self.max_model_len = num_blocks, block_size, max_model_len
        lm = self.config.lm_config
        heads = (lm.num_attention_heads, lm.num_key_value_heads)
        self._backend = select_backend(
            attention_backend, self.device, self.dtype, lm.head_dim, block_size, heads
        )
        self._pool = KVPool(
            model.num_kv_layers,
            num_blocks,
            block_size,
            lm.num_key_value_heads,
            lm.head_dim,
            self.dtype,
            self.device,
        )
        self._solver = FlowSolver(model.dit, self.config.mean_mode)
        self._noise = noise
        self._patch_shape = (self.config.patch_size, self.config.feat_dim)
        self._patch_seconds = self.config.patch_seconds
        self._streams = WaveformStreams(
            vae, max_num_seqs, self.config.patch_size, self.config.prompt_context_patches
        )
        self._programs: ProgramRunner | None = None
        self.adapters: AdapterBank | None = None
        """Where adapters are in slots; elsewhere requests hold them in the form of the model."""
        if adapter_slots and runs_triton(self.device):
            self.adapters = make_bank(self.config, weight, adapter_slots, adapter_rank)
        self._adapters_at_start = self.adapters is not None and adapter_rank is not None
        self._ahead = StepAhead(self._compute, threads, block_size) if threads else None
        self.host_memory = HostMemory(self._pool, host_slots, self._settle) if host_slots else None
        self.meanwhile: Meanwhile = lambda batch: None
        self.probe: Callable[[torch.device], None] = check_device
        """Raises DeviceLostError when the device computes no more; a test of lost ones may put in another."""

    @torch.inference_mode()
    def prepare_adapters(self) -> None:
        """Record now what steps with adapters will launch, for slots as adapters so far want them."""
        if self._programs is not None and self.adapters is not None:
            with on_device(self.device):
                self._programs.record_adapted()

    @torch.inference_mode()
    def prepare(self, plan: ProgramPlan, report: Report = lambda share: None) -> None:
        """Build the programs of `plan` and, on CUDA, record them. Raises EngineError, RuntimeError."""
        with on_device(self.device):
            compiled = COMPILED_SHARE if self._compile_ahead(plan, report) else 0.0
            programs = self._build(
                plan,
                partial(GraphRecorder, self.device),
                self._solver,
                lambda share: report(compiled + (1 - compiled) * share),
            )
            if self._adapters_at_start:
                programs.record_adapted(self.adapters.generation)
            if self.device.type == "cuda":
                self._streams.warm_up()
        self._programs = ProgramRunner(
            programs, self._streams, self.block_size, self._noise_of, self._result, self.adapters
        )

    def _compile_ahead(self, plan: ProgramPlan, report: Report) -> int:
        """How many kernels were compiled."""
        if self.device.type != "cuda":
            return 0
        from engine.kernels.ahead import compile_ahead

        rank = self.adapters.generation.layout.shape.rank if self._adapters_at_start else None
        what = repr((plan, self.config, self.num_blocks, self.block_size, self.dtype, rank))
        return compile_ahead(
            lambda: self.rehearse(plan), what, lambda share: report(COMPILED_SHARE * share), self.device
        )

    @torch.inference_mode()
    def rehearse(self, plan: ProgramPlan) -> None:
        """Launch once what the programs of `plan` launch.

        Kernels may be left out: nothing that it computes is kept, not even the constants of a solver.
        """
        plan = replace(plan, num_steps=min(plan.num_steps, REHEARSED_STEPS))
        solver = FlowSolver(self.model.dit, self.config.mean_mode)
        programs = self._build(plan, Rehearsal, solver, lambda share: None)
        if self._adapters_at_start:
            programs.record_adapted(self.adapters.generation)
        self._streams.warm_up()
        self._streams.latents.zero_()

    def _build(
        self,
        plan: ProgramPlan,
        make_recorder: Callable[..., GraphRecorder],
        solver: FlowSolver,
        report: Report,
    ) -> StepPrograms:
        patch_shapes = plan.patch_shapes()
        waveforms = WaveformPrograms(
            patch_shapes,
            self._streams,
            self.config,
            make_recorder(),
            lambda share: report(WAVEFORM_SHARE * share),
        )
        conditions = Conditions(patch_shapes[0].rows, self.model)

        def language(shape: LanguageShape, adapters: Generation | None) -> LanguageProgram:
            return LanguageProgram(
                shape, self.model, self._streams, self._backend, self._pool, conditions, adapters
            )

        def patch(shape: PatchShape, adapters: Generation | None) -> PatchProgram:
            return PatchProgram(
                shape, plan.num_steps, self.model, solver, self._streams, conditions, waveforms, adapters
            )

        recorder = make_recorder(first=True)
        return StepPrograms(
            plan,
            language,
            patch,
            recorder,
            lambda share: report(WAVEFORM_SHARE + (1 - WAVEFORM_SHARE) * share),
        )

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

    @torch.inference_mode()
    def _compute(self, parts: list[Part]) -> tuple[Tensor, Tensor]:
        """Everything but audio: patches fp32 [N, P, D] and stop decisions [N] of the parts that sample."""
        if self.adapters is None:
            return self._compute_with(parts, RowAdapters.of([part.state.adapter for part in parts]))
        groups = self.adapters.groups([part.state.adapter for part in parts])
        made = [self._compute_in_slots([parts[i] for i in group]) for group in groups]
        if len(made) == 1:
            return made[0]
        order = np.argsort([i for group in groups for i in group if parts[i].samples])
        patches, stops = (torch.cat(pieces) for pieces in zip(*made, strict=True))
        order = upload(order, self.device)
        return patches[order], stops[order]

    def _compute_in_slots(self, parts: list[Part]) -> tuple[Tensor, Tensor]:
        from models.lora.slot_rows import SlotRows

        slots = self.adapters.place([part.state.adapter for part in parts])
        named = max(slots) >= 0
        rows = SlotRows(self.adapters.generation, np.array(slots, np.int32)) if named else None
        made = self._compute_with(parts, rows)
        self.adapters.read(slots)
        return made

    def _compute_with(self, parts: list[Part], adapters: BatchAdapters | None) -> tuple[Tensor, Tensor]:
        lm_hidden, residual_hidden = self._run_language_models(parts, adapters)
        ends = np.cumsum([len(part.keys) for part in parts]) - 1
        sampling = [i for i, part in enumerate(parts) if part.samples]
        if len(sampling) < len(lm_hidden):
            last = upload(ends[sampling], self.device)
            lm_hidden, residual_hidden = lm_hidden[last], residual_hidden[last]
        if not sampling:
            nothing = torch.zeros(0, *self._patch_shape, device=self.device)
            return nothing, nothing[:, 0, 0].long()
        stops = self.model.stop_logits(lm_hidden).argmax(-1)
        adapters = adapters and adapters.chosen(sampling)
        mu = self.model.dit_condition(lm_hidden, residual_hidden, adapters)
        return self._generate([parts[i] for i in sampling], mu, adapters).float(), stops

    def release(self, sequence: Sequence) -> None:
        """Give back the sequence's waveform stream."""
        self._streams.release(sequence)
        if self._ahead is not None:
            self._ahead.release(sequence)
        if self._programs is not None:
            self._programs.release(sequence)

    def _run_language_models(
        self, parts: list[Part], adapters: BatchAdapters | None
    ) -> tuple[Tensor, Tensor]:
        """Hidden states (lm, residual) of all positions, [T, H]."""
        starts, counts = [part.start for part in parts], [len(part.keys) for part in parts]
        metadata = self._backend.plan(AttentionBatch(starts, counts, [part.block_table for part in parts]))
        positions = np.concatenate([np.arange(part.start, part.start + len(part.keys)) for part in parts])
        adapters = adapters and adapters.repeated(counts)
        embeds, audio_embeds, mask = self._embed([key for part in parts for key in part.keys], adapters)
        attention = PagedAttention(self._backend, self._pool, metadata)
        return self.model.run_language_models(
            embeds, audio_embeds, mask, upload(positions, self.device), attention, adapters
        )

    def _embed(
        self, keys: list[int | bytes], adapters: BatchAdapters | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Embeddings [T, H], the same with zeros at text, and the audio mask [T, 1] (None: all audio)."""
        audio_keys = [key for key in keys if isinstance(key, bytes)]
        spoken = np.array([isinstance(key, bytes) for key in keys])
        audio = None
        if audio_keys:
            audio = self.model.encode_patches(self._patches(audio_keys), adapters and adapters.chosen(spoken))
            if len(audio_keys) == len(keys):
                return audio, audio, None
        is_audio = upload(spoken, self.device)
        text_ids = upload(np.array([0 if isinstance(key, bytes) else key for key in keys]), self.device)
        embeds = self.model.embed_text(text_ids)
        audio_embeds = torch.zeros_like(embeds)
        if audio is not None:
            audio_embeds[is_audio] = audio
        mask = is_audio[:, None]
        return torch.where(mask, audio_embeds, embeds), audio_embeds, mask

    def _patches(self, keys: list[bytes]) -> Tensor:
        patches = key_patches(keys, self.config.patch_size, self.config.feat_dim)
        return upload(patches, self.device).to(self.dtype)

    def _generate(self, parts: list[Part], mu: Tensor, adapters: BatchAdapters | None) -> Tensor:
        """Flow matching for every row: mu [N, K, h] -> patches [N, P, D], fp32."""
        states = [part.state for part in parts]
        noise = upload(np.stack([self._noise_of(part.state, part.index) for part in parts]), self.device)
        cond = self._conditions(parts)
        groups: dict[int, list[int]] = {}
        for row, state in enumerate(states):
            groups.setdefault(state.num_steps, []).append(row)
        if len(groups) == 1:
            return self._solver.solve(noise, mu, cond, states[0].num_steps, self._guidance(states), adapters)
        patches = torch.empty_like(noise)
        for num_steps, rows in groups.items():
            guidance = self._guidance([states[row] for row in rows])
            chosen = adapters and adapters.chosen(rows)
            patches[rows] = self._solver.solve(noise[rows], mu[rows], cond[rows], num_steps, guidance, chosen)
        return patches

    def _noise_of(self, state: GenerationState, index: int) -> np.ndarray:
        noise = self._noise(state.seed, index, *self._patch_shape)
        return noise if state.temperature == 1.0 else noise * np.float32(state.temperature)

    def _conditions(self, parts: list[Part]) -> Tensor:
        """The patch before the one to be made, [N, P, D]; zeros where the stream ends in text."""
        silence = bytes(4 * self.config.patch_size * self.config.feat_dim)
        last = [key if isinstance(key := part.keys[-1], bytes) else silence for part in parts]
        return self._patches(last)

    def _guidance(self, states: list[GenerationState]) -> Tensor | None:
        values = [state.cfg_value for state in states]
        if all(value == 1.0 for value in values):
            return None
        return upload(np.array(values, np.float32), self.device)[:, None, None]

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
