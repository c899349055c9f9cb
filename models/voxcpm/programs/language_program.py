"""The first part of a step at fixed addresses: the language models.

    last patches, or prompt positions -> embeddings -> language models -> keys, values and hidden states

A program is for sequences that go on from their last patch (decodes), or for chunks of prompts. It leaves the
hidden states of what gets a patch in `Conditions`, from where a `patch_program` takes them; for a chunk that
is not the end of its prompt, and for a patch that is known already, nothing follows.

    program.fill([row, row])
    program.launch()                              # the device works, the host goes on
"""

from __future__ import annotations

from collections.abc import Sequence as Rows
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from engine.attention import AttentionBackend, AttentionBatch, PagedAttention, StepShape
from engine.device.staging import Mark
from engine.kv_cache.pool import KVPool
from engine.layers.low_rank import turns_of, turns_size
from engine.programs.inputs import Fields, Inputs
from models.transformer.rehearsal import few_layers
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.programs.program import StepProgram
from models.voxcpm.requests.prompt import key_patches
from models.voxcpm.steps.step import Positions, hidden_states
from models.voxcpm.vae.waveform_streams import LastPatches

if TYPE_CHECKING:
    from models.lora.bank import Generation
    from models.lora.slot_rows import SlotRows


@dataclass(frozen=True)
class LanguageShape:
    """What a program has room for: decodes or chunks. `chunk_audio`: chunks may be audio, not text alone."""

    attention: StepShape
    chunk_audio: bool = False

    @property
    def num_rows(self) -> int:
        """Sequences that may get a patch."""
        return self.attention.num_decodes + self.attention.num_chunks


class LanguageRow(NamedTuple):
    """One sequence of a step, as the host sees it."""

    start: int
    keys: list[int | bytes]
    """Of the positions to compute; of a decode one, which is not read: its patch stands in `slot`."""
    block_table: list[int]
    slot: int = 0
    samples: bool = True
    """Of a chunk: its end is the end of the prompt, so that a patch follows."""
    adapter: int = -1
    """The slot of its adapter, for a program that has adapters."""


class Conditions:
    """Hidden states on their way from language models to patches: those of the step under way.

    Attributes:
        lm, residual: [rows, H], of the language model and of the residual one.
    """

    def __init__(self, rows: int, model: VoxCPMModel) -> None:
        weight = model.base_lm.norm.weight
        size = (rows, model.config.lm_config.hidden_size)
        self.lm, self.residual = (
            torch.zeros(size, dtype=weight.dtype, device=weight.device) for _ in range(2)
        )


class LanguageProgram(StepProgram):
    """See the module. Programs that share `conditions` must not run at the same time.

    Args:
        adapters: the slots that rows may name; None for a program without adapters.
    """

    def __init__(
        self,
        shape: LanguageShape,
        model: VoxCPMModel,
        streams: LastPatches,
        backend: AttentionBackend,
        pool: KVPool,
        conditions: Conditions,
        adapters: Generation | None = None,
    ) -> None:
        super().__init__()
        self.shape, self.adapters = shape, adapters
        self._model, self._streams, self._backend, self._conditions = model, streams, backend, conditions
        self._patch = (model.config.patch_size, model.config.feat_dim)
        self._dtype = model.base_lm.norm.weight.dtype
        self._metadata = backend.buffers(shape.attention)
        self._attention = PagedAttention(backend, pool, self._metadata)
        fields = _fields(shape, self._patch) | adapter_fields(adapters, shape.attention.num_tokens)
        self._inputs = Inputs(fields, streams.latents.device)
        self.fill([])

    def fill(self, rows: Rows[LanguageRow]) -> None:
        """Lay a batch into the inputs. Raises EngineError when it does not fit."""
        batch = AttentionBatch(
            [row.start for row in rows], [len(row.keys) for row in rows], [row.block_table for row in rows]
        )
        self._backend.plan(batch, out=self._metadata)
        host = self._inputs.take()
        if self.shape.attention.num_chunks:
            self._fill_chunks(host, rows)
        else:
            host["positions"][: len(rows)] = [row.start for row in rows]
            host["slots"][:] = self._streams.spare_slot
            host["slots"][: len(rows)] = [row.slot for row in rows]
        if self.adapters is not None:
            slots = np.full(self.shape.attention.num_tokens, -1)
            of_row = np.repeat([row.adapter for row in rows], [len(row.keys) for row in rows])
            slots[: len(of_row)] = of_row
            host["adapters"][:] = turns_of(slots)
        self._inputs.send()

    def _fill_chunks(self, host: dict[str, np.ndarray], rows: Rows[LanguageRow]) -> None:
        begin, ends = 0, []
        for row in rows:
            end = begin + len(row.keys)
            host["positions"][begin:end] = np.arange(row.start, row.start + end - begin)
            host["token_ids"][begin:end] = [0 if isinstance(key, bytes) else key for key in row.keys]
            if self.shape.chunk_audio:
                is_audio = np.array([isinstance(key, bytes) for key in row.keys])
                host["is_audio"][begin:end] = is_audio
                patches = key_patches([key for key in row.keys if isinstance(key, bytes)], *self._patch)
                host["audio"][begin:end][is_audio] = patches
            if row.samples:
                ends.append(end - 1)
            begin = end
        host["ends"][:] = 0
        host["ends"][: len(ends)] = ends

    @torch.inference_mode()
    def launch(self) -> None:
        """Compute what was filled in; returns before the device is done."""
        with self._along(self._metadata.staging.last, self._inputs.staging.last):
            self._launch()

    def replay(self, first: bytes, second: bytes) -> None:
        """See `StepProgram.replay`."""
        self._metadata.staging.receive(first)
        self._inputs.staging.receive(second)
        self.launch()

    def mark(self) -> Mark:
        """The moment at which the device will have computed it."""
        return Mark(self._streams.latents.device)

    @torch.inference_mode()
    def compute(self) -> None:
        """See `StepProgram.compute`."""
        adapters = slot_rows(self.adapters, self._inputs)
        hidden = hidden_states(self._model, self._positions(adapters), self._attention, adapters)
        conditions = self._conditions
        conditions.lm[: len(hidden.lm)], conditions.residual[: len(hidden.residual)] = hidden

    @torch.inference_mode()
    def rehearse(self) -> None:
        """See `StepProgram.rehearse`: by few layers."""
        with few_layers():
            self.compute()

    def _positions(self, adapters: SlotRows | None) -> Positions:
        model, inputs = self._model, self._inputs
        if not self.shape.attention.num_chunks:
            last = self._streams.latents[inputs["slots"]]
            return Positions(inputs["positions"], audio=model.encode_patches(last.to(self._dtype), adapters))
        token_ids, audio = inputs["token_ids"], None
        if self.shape.chunk_audio:
            audio, is_audio = inputs["audio"].to(self._dtype), inputs["is_audio"]
            audio = model.encode_patches(audio, adapters)
        else:
            is_audio = torch.zeros_like(token_ids, dtype=torch.bool)
        return Positions(inputs["positions"], token_ids, audio, is_audio, inputs["ends"])


def adapter_fields(adapters: Generation | None, rows: int) -> Fields:
    """The inputs that a program with adapters has beside the others: what `turns_of` its rows gives."""
    return {} if adapters is None else {"adapters": (torch.int32, (turns_size(rows),))}


def slot_rows(adapters: Generation | None, inputs: Inputs) -> SlotRows | None:
    """Which row has which adapter, None in a program without."""
    if adapters is None:
        return None
    from models.lora.slot_rows import SlotRows

    return SlotRows(adapters, inputs["adapters"])


def _fields(shape: LanguageShape, patch: tuple[int, int]) -> Fields:
    chunks, tokens = shape.attention.num_chunks, shape.attention.num_chunk_tokens
    fields: Fields = {"positions": (torch.int64, (shape.attention.num_tokens,))}
    if not chunks:
        return fields | {"slots": (torch.int64, (shape.num_rows,))}
    fields |= {"ends": (torch.int64, (chunks,)), "token_ids": (torch.int64, (tokens,))}
    if shape.chunk_audio:
        fields |= {"is_audio": (torch.bool, (tokens,)), "audio": (torch.float32, (tokens, *patch))}
    return fields
