"""The second part of a step at fixed addresses: hidden states in, tokens out.

program.fill([(slot, index), ...])            # the slot of each row, and the place of its token
found = program.launch()                      # after the language program that left the hidden states
for sampled in found.results(): ...
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import torch
import triton
from torch import Tensor

from engine.cuda_graphs import Compute
from engine.kernels.launch import kernel_on
from engine.parallel.group import Group
from engine.programs.inputs import Inputs
from engine.staging import HostCopy, Readback
from models.llm.families import TextModel
from models.llm.programs import kernels
from models.llm.programs.tables import COLUMNS, FIELDS, Tables, filters, learns
from models.llm.sampler import Sampled
from models.llm.sampling_params import MOST_TOP_LOGPROBS, SamplingParams

BLOCK = 2048
WIDE = 8192


class Kind(IntEnum):
    """What the rows of a program may ask for; each kind serves what those before it do."""

    PLAIN = 0
    """Greedy, or by temperature alone."""
    FILTERED = 1
    """Penalties, rules and filters."""
    TOLD = 2
    """Logarithms of probabilities besides."""

    @classmethod
    def of(cls, params: SamplingParams) -> Kind:
        if params.logprobs is not None:
            return cls.TOLD
        return cls.FILTERED if learns(params) or filters(params) else cls.PLAIN


class Drawn:
    """Tokens that are under way, of the first rows of a program."""

    def __init__(self, outputs: HostCopy, kind: Kind) -> None:
        self._outputs, self._kind = outputs, kind
        self._results: list[Any] | None = None

    def results(self) -> list[Any]:
        """A token for each row, or (kind TOLD) `Told`; waits for the device."""
        if self._results is None:
            values = self._outputs.wait()
            told = self._kind is Kind.TOLD
            self._results = [Told(row.copy()) for row in values] if told else values[:, 0].tolist()
            self._outputs.give_back()
        return self._results


class Told:
    """A token, the logarithm of its probability and those of the likeliest ones."""

    def __init__(self, row: np.ndarray) -> None:
        self._row = row

    @property
    def token(self) -> int:
        return int(self._row[0])

    def sampled(self, count: int | None) -> Sampled:
        """With so many likeliest ones; None tells nothing."""
        if count is None:
            return Sampled(self.token)
        own = float(self._row[1:2].view(np.float32)[0])
        ids = self._row[2 : 2 + count].tolist()
        most = (len(self._row) - 2) // 2
        values = self._row[2 + most : 2 + most + count].view(np.float32).tolist()
        return Sampled(self.token, own, tuple(zip(ids, values, strict=True)))


class SamplingProgram:
    """See the module. Programs that share `hidden` or `tables` must not run at the same time."""

    def __init__(
        self,
        rows: int,
        kind: Kind,
        model: TextModel,
        tables: Tables,
        hidden: Tensor,
        readback: Readback,
        group: Group | None = None,
    ) -> None:
        self.rows, self.kind, self._group = rows, kind, group
        self._model, self._tables, self._hidden, self._readback = model, tables, hidden, readback
        device, vocab_size = hidden.device, model.config.vocab_size
        self._inputs = Inputs({"slots": (torch.int64, (rows,)), "indices": (torch.int64, (rows,))}, device)
        self._vocab_size, self._blocks = vocab_size, -(-vocab_size // BLOCK)
        self._num_filled = 0
        self._launch: Compute = self.compute
        self.fill([], [])

    def use(self, launch: Compute) -> None:
        """Let `launch`, a recording of `compute`, run in its place."""
        self._launch = launch

    def fill(self, slots: list[int], indices: list[int]) -> None:
        """Lay rows into the inputs."""
        self._num_filled = count = len(slots)
        host = self._inputs.take()
        host["slots"][:count], host["indices"][:count] = slots, indices
        host["slots"][count:] = self._tables.spare_slot
        self._inputs.send()

    def sent(self) -> tuple[bytes, bytes]:
        """Hidden states are on all ranks, and rank 0 draws."""
        return b"", b""

    @torch.inference_mode()
    def replay(self, *_: bytes) -> None:
        """Another rank's part of what rank 0 computes."""
        self._launch()

    @torch.inference_mode()
    def launch(self) -> Drawn:
        """Compute what was filled in; returns before the device is done."""
        self._launch()
        return Drawn(self._readback.take(self._num_filled), self.kind)

    @torch.inference_mode()
    def compute(self) -> None:
        """The computation itself: tensors in, tensors out, no word with the host."""
        logits = self._logits()
        if logits is None:
            return
        tables, slots, indices = self._tables, self._inputs["slots"], self._inputs["indices"]
        device, size = logits.device, self._vocab_size
        adjusted, thresholds = logits, None
        if self.kind is not Kind.PLAIN:
            adjusted, thresholds = self._adjusted(logits), logits.new_empty(self.rows, dtype=torch.float32)
            kernel_on(device, kernels.threshold_kernel)[(self.rows,)](
                adjusted, thresholds, tables.floats, slots, V=size, COLUMNS=COLUMNS, BLOCK=WIDE, num_warps=16
            )
        cells = (self.rows, self._blocks)
        maxima, sums = (
            logits.new_empty(cells, dtype=torch.float32),
            logits.new_empty(cells, dtype=torch.float64),
        )
        places = logits.new_empty(cells, dtype=torch.int32)
        kernel_on(device, kernels.block_kernel)[cells](
            adjusted, thresholds, tables.floats, slots, maxima, sums, places,
            V=size, COLUMNS=COLUMNS, BLOCK=BLOCK, BLOCKS=self._blocks,
        )  # fmt: skip
        out = self._readback.source
        kernel_on(device, kernels.choose_kernel)[(self.rows,)](
            adjusted, thresholds, maxima, sums, places, tables.floats, tables.seeds, slots, indices,
            tables.tokens, tables.counts, tables.history, out,
            V=size, COLUMNS=COLUMNS, BLOCK=BLOCK, BLOCKS=self._blocks,
            ROOM=triton.next_power_of_2(self._blocks), PREFIX=kernels.PREFIX, OUT=out.shape[1],
            LEARNS=self.kind is not Kind.PLAIN, num_warps=8,
        )  # fmt: skip
        if self.kind is Kind.TOLD:
            _tell(logits, out[: self.rows])

    def _logits(self) -> Tensor | None:
        """[rows, V], on rank 0."""
        logits = self._model.logits(self._hidden[: self.rows])
        if self._group is None:
            return logits
        parts = self._group.gather(logits)
        return None if parts is None else parts.transpose(0, 1).flatten(1)

    def _adjusted(self, logits: Tensor) -> Tensor:
        """fp32, after penalties and rules."""
        tables, slots, size = self._tables, self._inputs["slots"], self._vocab_size
        adjusted = torch.empty(logits.shape, dtype=torch.float32, device=logits.device)
        kernel_on(logits.device, kernels.adjust_kernel)[(self.rows, self._blocks)](
            logits, adjusted, tables.counts, tables.floats, slots, V=size, COLUMNS=COLUMNS, BLOCK=BLOCK
        )
        kernel_on(logits.device, kernels.rules_kernel)[(self.rows,)](
            adjusted, tables.rules, tables.history, slots, self._inputs["indices"],
            V=size, RULES=kernels.RULES, FIELDS=FIELDS, PREFIX=kernels.PREFIX,
        )  # fmt: skip
        return adjusted


def readback(rows: int, kind: Kind, vocab_size: int, device: torch.device) -> Readback:
    """Of the outputs of programs of one kind: int32 [rows, 1 or more], the first column the tokens."""
    width = 2 + 2 * min(MOST_TOP_LOGPROBS, vocab_size) if kind is Kind.TOLD else 1
    return Readback(torch.zeros(rows, width, dtype=torch.int32, device=device))


def _tell(logits: Tensor, out: Tensor) -> None:
    """Into the columns of `out` int32 [N, ...] behind the token: the logarithm of its probability, the ids of
    the likeliest ones and their logarithms; fp32 as bits."""
    logprobs = logits.float().log_softmax(-1)
    most = (out.shape[1] - 2) // 2
    values, ids = logprobs.topk(most, dim=-1)
    own = logprobs.gather(1, out[:, :1].long())
    out[:, 1:2] = own.view(torch.int32)
    out[:, 2 : 2 + most] = ids
    out[:, 2 + most :] = values.view(torch.int32)
