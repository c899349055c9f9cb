"""Runs a text model on a device for the engine: one call computes one step of a mixed batch.

Once `prepare` was called, steps are those of `models.llm.programs`; before, and for what these do not serve,
a step is computed as it comes.

Everything it needs of a sequence stands in its tokens and its `Answer`, so a sequence can be preempted and
computed again, or start from tokens made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from engine.attention import AttentionBatch, PagedAttention, select_backend
from engine.attention.streamed import StreamedCache
from engine.device.cuda_graphs import GraphRecorder, Rehearsal
from engine.device.devices import check_device, on_device
from engine.device.staging import upload
from engine.kv_cache.host_memory import HostMemory
from engine.kv_cache.pool import KVPool
from engine.model_runner import Meanwhile, StepResult
from engine.parallel.part import WHOLE, Part
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence
from models.llm.families import TextModel
from models.llm.sampler import Answer, Sampled, sample
from models.llm.token_step import TokenStep
from models.transformer.stack import Attention

if TYPE_CHECKING:
    from models.llm.programs.runner import ProgramRunner
    from models.llm.programs.step_programs import Lead, StepPrograms
    from models.llm.programs.tables import Tables


Report = Callable[[float], None]
Attend = Callable[[AttentionBatch], Attention]
LONG_PROMPTS = (4000, 8200)
"""Positions; kernels of many programs have a form of their own, see `engine.kernels.launch`."""


class TextRunner:
    """The `engine.model_runner.ModelRunner` of text models; a sequence's payload is a `TextState`.

    kv_dtype: of keys and values in the cache. host_slots: of a second tier of it. ring_blocks: with them all
    of it is on the host, see `engine.attention.streamed`; then there is no `prepare`.
    part: what `model` is of the network; a runner of one rank computes its part of the logits.
    """

    def __init__(
        self,
        model: TextModel,
        device: torch.device,
        dtype: torch.dtype,
        kv_dtype: torch.dtype,
        *,
        num_blocks: int,
        block_size: int,
        max_model_len: int,
        host_slots: int = 0,
        ring_blocks: int | None = None,
        attention_backend: str = "auto",
        part: Part = WHOLE,
    ) -> None:
        self.num_blocks, self.block_size, self.max_model_len = num_blocks, block_size, max_model_len
        self.probe: Callable[[torch.device], None] = check_device
        self._model, self._device = model, device
        self._dtype, self._part = dtype, part
        config = model.config
        query_heads, kv_heads = part.heads(config.num_attention_heads, config.num_key_value_heads)
        heads = (len(query_heads), len(kv_heads))
        width = config.head_dim
        cache = (config.num_hidden_layers, num_blocks, block_size, heads[1], width, kv_dtype, device)
        self.host_memory: HostMemory | None = None
        self.meanwhile: Meanwhile = lambda batch: None
        self._programs: ProgramRunner | None = None
        self._recorder: GraphRecorder | None = None
        if ring_blocks is not None:
            self._attention: Attend = StreamedCache(*cache, ring_blocks).step
            return
        self._backend = select_backend(attention_backend, device, kv_dtype, width, block_size, heads)
        self._pool = KVPool(*cache)
        self._attention = self._paged_attention
        self.host_memory = HostMemory(self._pool, host_slots) if host_slots else None

    def _paged_attention(self, batch: AttentionBatch) -> PagedAttention:
        return PagedAttention(self._backend, self._pool, self._backend.plan(batch))

    @torch.inference_mode()
    def prepare(self, max_num_seqs: int, record: bool = True, report: Report = lambda share: None) -> None:
        """Build the programs and, on CUDA, `record` them. Raises EngineError, RuntimeError."""
        from models.llm.programs.runner import ProgramRunner

        self.compile_ahead(max_num_seqs, report)
        programs, tables = self.build(max_num_seqs, record, report)
        if self._device.type == "cuda":
            with on_device(self._device):
                self._run_long()
        self._programs = ProgramRunner(programs, tables, self.block_size, self._ends, _result)

    def compile_ahead(self, max_num_seqs: int, report: Report = lambda share: None) -> None:
        """On CUDA: the kernels of all programs. Other ranks have no part in it."""
        if self._device.type != "cuda":
            return
        from engine.kernels.ahead import compile_ahead

        def rehearse() -> None:
            self._build(max_num_seqs, Rehearsal(), report)
            self._run_long()

        sizes = (max_num_seqs, self.max_model_len, self.num_blocks, self.block_size, self._part.size)
        what = repr((*sizes, self._model.config, self._dtype))
        with on_device(self._device), self._part.alone():
            compile_ahead(rehearse, what, report, self._device)

    def build(
        self, max_num_seqs: int, record: bool, report: Report = lambda share: None, lead: Lead | None = None
    ) -> tuple[StepPrograms, Tables]:
        """All programs. Ranks do it together, and rank 0 has them launch along by `lead`."""
        with on_device(self._device):
            self._recorder = GraphRecorder(self._device) if record else Rehearsal()
            return self._build(max_num_seqs, self._recorder, report, lead)

    def _build(
        self, max_num_seqs: int, recorder: GraphRecorder, report: Report, lead: Lead | None = None
    ) -> tuple[StepPrograms, Tables]:
        from models.llm.programs.step_programs import StepPrograms, TextPlan
        from models.llm.programs.tables import Tables

        tables = Tables(max_num_seqs, self._model.config.vocab_size, self._device)
        plan, cache = TextPlan(max_num_seqs, self.max_model_len), (self._backend, self._pool, self._dtype)
        group = self._part.group
        return StepPrograms(plan, self._model, tables, *cache, recorder, report, group, lead), tables

    def _run_long(self) -> None:
        """Prompts that no program has room for, so that the first one finds its kernels."""
        for count in LONG_PROMPTS:
            if count <= self.num_blocks * self.block_size:
                sequence = Sequence("warm-up", [0] * count, 1)
                sequence.block_table = list(range(-(-count // self.block_size)))
                self._ends([ScheduledSequence(sequence, 0, count)])
                self._ends([ScheduledSequence(sequence, count // 2, count - count // 2)])

    @torch.inference_mode()
    def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        """See `engine.model_runner.ModelRunner.run`."""
        with on_device(self._device):
            if self._programs is None:
                return self._run_freely(batch)
            return self._programs.run(batch, self._run_freely, self.meanwhile)

    def _run_freely(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        """Any batch, in tensors of its own size, its tokens drawn at once."""
        results: list[StepResult | None] = [None] * len(batch)
        sampling = [i for i, row in enumerate(batch) if row.samples]
        answers: list[Answer] = [batch[i].sequence.payload.answer for i in sampling]
        for i, sampled in zip(sampling, self._draw(TokenStep.of(batch), answers), strict=True):
            results[i] = _result(batch[i].sequence, sampled)
        return results

    def _draw(self, step: TokenStep, answers: Rows[Answer]) -> list[Sampled]:
        """A token for each end of `step`."""
        logits = self.logits(step)
        return sample(logits, answers) if answers else []

    def logits(self, step: TokenStep) -> Tensor:
        """[N, V] of the ends of `step`, or this rank's part of them. Keys and values of all its positions
        stand in the cache then.
        """
        return self._model.logits(self.at_ends(step))

    def check_device(self) -> None:
        """See `engine.model_runner.ModelRunner.check_device`."""
        self.probe(self._device)

    def close(self) -> None:
        """Ends what only a runner of several ranks has; tensors free themselves."""

    def release(self, sequence: Sequence) -> None:
        """Give back the sequence's place on the device."""
        if self._programs is not None:
            self._programs.release(sequence)

    def _ends(self, batch: Rows[ScheduledSequence]) -> Tensor:
        """Hidden states [N, H] of the last positions of those rows that sample."""
        return self.at_ends(TokenStep.of(batch))

    def at_ends(self, step: TokenStep) -> Tensor:
        """Hidden states [N, H] of the ends of a step."""
        ends = step.ends if len(step.ends) else np.zeros(1, np.int64)  # no kernel is for no rows
        hidden = self._model(
            upload(step.tokens, self._device),
            upload(step.positions, self._device),
            self._attention(step.batch),
            upload(ends, self._device),
        )
        return hidden[: len(step.ends)]


def _result(sequence: Sequence, sampled: Sampled) -> StepResult:
    state = sequence.payload
    state.answer.index += 1
    state.answer.logits.add(sampled.token)
    stopped = sampled.token in state.end_ids and state.answer.index > state.answer.params.min_tokens
    return StepResult(sampled.token, stopped, "stop" if stopped else None, sampled)
