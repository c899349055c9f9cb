"""Runs a text model on a device for the engine: one call computes one step of a mixed batch.

Everything it needs of a sequence stands in its tokens and its `Answer`, so a sequence can be preempted and
computed again, or start from tokens made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows

import numpy as np
import torch
from torch import Tensor

from engine.attention import AttentionBatch, PagedAttention, select_backend
from engine.devices import check_device, on_device
from engine.kv_cache.pool import KVPool
from engine.model_runner import StepResult
from engine.scheduler import ScheduledSequence
from engine.sequence import Sequence
from engine.staging import upload
from models.llm.families import TextModel
from models.llm.sampler import Answer, Sampled, sample


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
        attention_backend: str = "auto",
    ) -> None:
        self.num_blocks, self.block_size, self.max_model_len = num_blocks, block_size, max_model_len
        self.probe: Callable[[torch.device], None] = check_device
        self._model, self._device = model, device
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

    @torch.inference_mode()
    def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        """See `engine.model_runner.ModelRunner.run`."""
        with on_device(self._device):
            hidden = self._hidden(batch)
            sampling = [i for i, row in enumerate(batch) if row.samples]
            results: list[StepResult | None] = [None] * len(batch)
            if not sampling:
                return results
            ends = np.cumsum([row.count for row in batch]) - 1
            logits = self._model.logits(hidden[upload(ends[sampling], self._device)])
            answers: list[Answer] = [batch[i].sequence.payload.answer for i in sampling]
            for i, sampled in zip(sampling, sample(logits, answers), strict=True):
                results[i] = _result(batch[i].sequence, sampled)
        return results

    def check_device(self) -> None:
        """See `engine.model_runner.ModelRunner.check_device`."""
        self.probe(self._device)

    def release(self, sequence: Sequence) -> None:
        """Nothing is held for a sequence beside its blocks."""

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
