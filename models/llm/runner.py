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
from engine.cuda_graphs import GraphRecorder, Rehearsal
from engine.devices import check_device, on_device
from engine.kv_cache.host_memory import HostMemory
from engine.kv_cache.pool import KVPool
from engine.model_runner import StepResult
from engine.scheduler import ScheduledSequence
from engine.sequence import Sequence
from engine.staging import upload
from models.llm.families import TextModel
from models.llm.sampler import Answer, Sampled, sample

if TYPE_CHECKING:
    from models.llm.programs.runner import ProgramRunner
    from models.llm.programs.step_programs import StepPrograms
    from models.llm.programs.tables import Tables


LONG_PROMPTS = (4000, 8200)
"""Positions; kernels of many programs have a form of their own, see `engine.kernels.launch`."""


class TextRunner:
    """The `engine.model_runner.ModelRunner` of text models; a sequence's payload is a `TextState`."""

    def __init__(
        self,
        model: TextModel,
        device: torch.device,
        dtype: torch.dtype,
        *,
        num_blocks: int,
        block_size: int,
        max_model_len: int,
        host_slots: int = 0,
        attention_backend: str = "auto",
    ) -> None:
        self.num_blocks, self.block_size, self.max_model_len = num_blocks, block_size, max_model_len
        self.probe: Callable[[torch.device], None] = check_device
        self._model, self._device = model, device
        self._dtype = dtype
        config = model.config
        heads = (config.num_attention_heads, config.num_key_value_heads)
        self._backend = select_backend(attention_backend, device, dtype, config.head_dim, block_size, heads)
        self._pool = KVPool(
            config.num_hidden_layers,
            num_blocks,
            block_size,
            config.num_key_value_heads,
            config.head_dim,
            dtype,
            device,
        )
        self.host_memory = HostMemory(self._pool, host_slots) if host_slots else None
        self._programs: ProgramRunner | None = None

    @torch.inference_mode()
    def prepare(self, max_num_seqs: int, report: Callable[[float], None] = lambda share: None) -> None:
        """Build the programs and, on CUDA, record them. Raises EngineError, RuntimeError."""
        from models.llm.programs.runner import ProgramRunner
        from models.llm.programs.step_programs import StepPrograms, TextPlan
        from models.llm.programs.tables import Tables

        plan = TextPlan(max_num_seqs, self.max_model_len)

        def build(recorder: GraphRecorder) -> tuple[StepPrograms, Tables]:
            tables = Tables(max_num_seqs, self._model.config.vocab_size, self._device)
            programs = StepPrograms(
                plan, self._model, tables, self._backend, self._pool, self._dtype, recorder, report
            )
            return programs, tables

        with on_device(self._device):
            if self._device.type == "cuda":
                from engine.kernels.ahead import compile_ahead

                what = repr((plan, self._model.config, self.num_blocks, self.block_size, self._dtype))
                compile_ahead(lambda: (build(Rehearsal()), self._run_long()), what, report, self._device)
            programs, tables = build(GraphRecorder(self._device))
            if self._device.type == "cuda":
                self._run_long()
        self._programs = ProgramRunner(programs, tables, self.block_size, self._ends, _result)

    def _run_long(self) -> None:
        """Prompts that no program has room for, so that the first one finds its kernels."""
        for count in LONG_PROMPTS:
            if count <= self.num_blocks * self.block_size:
                sequence = Sequence("warm-up", [0] * count, 1)
                sequence.block_table = list(range(-(-count // self.block_size)))
                self._hidden([ScheduledSequence(sequence, 0, count)])
                self._hidden([ScheduledSequence(sequence, count // 2, count - count // 2)])

    @torch.inference_mode()
    def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        """See `engine.model_runner.ModelRunner.run`."""
        with on_device(self._device):
            if self._programs is None:
                return self._run_freely(batch)
            return self._programs.run(batch, self._run_freely)

    def _run_freely(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        """Any batch, in tensors of its own size, its tokens drawn at once."""
        results: list[StepResult | None] = [None] * len(batch)
        logits = self._model.logits(self._ends(batch))
        sampling = [i for i, row in enumerate(batch) if row.samples]
        if sampling:
            answers: list[Answer] = [batch[i].sequence.payload.answer for i in sampling]
            for i, sampled in zip(sampling, sample(logits, answers), strict=True):
                results[i] = _result(batch[i].sequence, sampled)
        return results

    def check_device(self) -> None:
        """See `engine.model_runner.ModelRunner.check_device`."""
        self.probe(self._device)

    def release(self, sequence: Sequence) -> None:
        """Give back the sequence's place on the device."""
        if self._programs is not None:
            self._programs.release(sequence)

    def _ends(self, batch: Rows[ScheduledSequence]) -> Tensor:
        """Hidden states [N, H] of the last positions of those rows that sample."""
        ends = np.cumsum([row.count for row in batch]) - 1
        sampling = [i for i, row in enumerate(batch) if row.samples]
        return self._hidden(batch)[upload(ends[sampling], self._device)]

    def _hidden(self, batch: Rows[ScheduledSequence]) -> Tensor:
        """Hidden states [T, H] of all scheduled positions, row after row."""
        starts, counts = [row.start for row in batch], [row.count for row in batch]
        tables = [row.sequence.block_table for row in batch]
        metadata = self._backend.plan(AttentionBatch(starts, counts, tables))
        tokens = [row.sequence.token_ids[row.start : row.start + row.count] for row in batch]
        positions = [np.arange(start, start + count) for start, count in zip(starts, counts, strict=True)]
        return self._model(
            upload(np.concatenate(tokens).astype(np.int64), self._device),
            upload(np.concatenate(positions), self._device),
            PagedAttention(self._backend, self._pool, metadata),
        )


def _result(sequence: Sequence, sampled: Sampled) -> StepResult:
    state = sequence.payload
    state.answer.index += 1
    state.answer.logits.add(sampled.token)
    stopped = sampled.token in state.end_ids and state.answer.index > state.answer.params.min_tokens
    return StepResult(sampled.token, stopped, "stop" if stopped else None, sampled)
