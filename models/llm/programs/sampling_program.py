"""The second part of a step at fixed addresses: hidden states in, tokens out.

program.fill(slots, indices, answers)         # the slot of each row, and the place of its token
found = program.launch()                      # after the language program that left the hidden states
for sampled in found.results(): ...

Of several ranks each has the logits of its part of the vocabulary. For what is greedy or drawn by temperature
alone they exchange the sums of their blocks and the token that one of them finds (`_draw_from_parts`); all
other logits are gathered on rank 0, which draws.
"""

from __future__ import annotations

from collections.abc import Sequence as Rows
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import torch
import triton
from torch import Tensor

from engine.device.cuda_graphs import Compute
from engine.device.staging import HostCopy, Readback
from engine.kernels.launch import kernel_on
from engine.parallel.group import Group
from engine.programs.inputs import Fields, Inputs
from models.llm.families import TextModel
from models.llm.programs import kernels
from models.llm.programs.tables import COLUMNS, FIELDS, Tables, filters, floats_of, learns
from models.llm.sampler import Answer, Sampled
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


class Blocks(NamedTuple):
    """[rows, all blocks of the vocabulary] each, and where those begin whose logits are here."""

    maxima: Tensor
    sums: Tensor
    places: Tensor
    first_token: int = 0
    first_block: int = 0


Rules = tuple[Tensor, Tensor, Tensor]
"""Settings and seeds as of `Tables`, and the place of each row in them."""


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
        fields: Fields = {"slots": (torch.int64, (rows,)), "indices": (torch.int64, (rows,))}
        self._in_parts = group is not None and kind is Kind.PLAIN
        if self._in_parts:
            fields |= {"seeds": (torch.int64, (rows,)), "floats": (torch.float32, (rows, COLUMNS))}
        self._inputs = Inputs(fields, device)
        self._row_numbers = torch.arange(rows, device=device)
        self._vocab_size = vocab_size
        self._num_filled = 0
        self._launch: Compute = self.compute
        self.fill([], [], [])

    def use(self, launch: Compute) -> None:
        """Let `launch`, a recording of `compute`, run in its place."""
        self._launch = launch

    def fill(self, slots: list[int], indices: list[int], answers: Rows[Answer]) -> None:
        """Lay rows into the inputs."""
        self._num_filled = count = len(slots)
        host = self._inputs.take()
        host["slots"][:count], host["indices"][:count] = slots, indices
        host["slots"][count:] = self._tables.spare_slot
        if self._in_parts and count:
            host["seeds"][:count] = np.array([answer.seed for answer in answers], np.uint64).view(np.int64)
            host["floats"][:count] = [floats_of(answer.params) for answer in answers]
        self._inputs.send()

    def sent(self) -> tuple[bytes, np.ndarray]:
        """What was filled in last, as bytes. Hidden states are on all ranks."""
        return b"", self._inputs.staging.last

    @torch.inference_mode()
    def replay(self, _: bytes, inputs: bytes) -> None:
        """Another rank's part of what rank 0 computes."""
        self._inputs.staging.receive(inputs)
        self._launch()

    @torch.inference_mode()
    def launch(self) -> Drawn:
        """Compute what was filled in; returns before the device is done."""
        self._launch()
        return Drawn(self._readback.take(self._num_filled), self.kind)

    @torch.inference_mode()
    def compute(self) -> None:
        """The computation itself: tensors in, tensors out, no word with the host."""
        logits = self._model.logits(self._hidden[: self.rows])
        if self._in_parts:
            return self._draw_from_parts(logits)
        if self._group is not None:
            parts = self._group.gather(logits)
            if parts is None:
                return
            logits = parts.transpose(0, 1).flatten(1)
        self._draw(logits)

    def _draw(self, logits: Tensor) -> None:
        """[rows, V]"""
        tables, slots = self._tables, self._inputs["slots"]
        adjusted, thresholds = logits, None
        if self.kind is not Kind.PLAIN:
            adjusted, thresholds = self._adjusted(logits), logits.new_empty(self.rows, dtype=torch.float32)
            kernel_on(logits.device, kernels.threshold_kernel)[(self.rows,)](
                adjusted, thresholds, tables.floats, slots,
                V=logits.shape[1], COLUMNS=COLUMNS, BLOCK=WIDE, num_warps=16,
            )  # fmt: skip
        shape = (self.rows, -(-logits.shape[1] // BLOCK))
        types = (torch.float32, torch.float64, torch.int32)
        blocks = Blocks(*(logits.new_empty(shape, dtype=dtype) for dtype in types))
        rules = tables.floats, tables.seeds, slots
        self._sum_blocks(adjusted, thresholds, rules, blocks)
        out = self._readback.source
        self._choose(adjusted, thresholds, rules, blocks, out)
        if self.kind is Kind.TOLD:
            _tell(logits, out[: self.rows])

    def _draw_from_parts(self, logits: Tensor) -> None:
        """[rows, V / ranks], on every rank."""
        group, own = self._group, -(-logits.shape[1] // BLOCK)
        cells = logits.new_zeros(3, self.rows, group.size * own, dtype=torch.int64)
        rules = self._inputs["floats"], self._inputs["seeds"], self._row_numbers
        place = group.rank * logits.shape[1], group.rank * own
        self._sum_blocks(logits, None, rules, _blocks_in(cells, *place))
        # of each number one rank has the bits, all others zeros
        cells = group.all_reduce(cells.flatten(0, 1)).view(cells.shape)
        told = logits.new_empty(1, self.rows, dtype=torch.int64)
        self._choose(logits, None, rules, _blocks_in(cells, *place), told.view(self.rows, 1))
        tokens = group.all_reduce(told)[0]
        self._tables.tokens[self._inputs["slots"]] = tokens
        self._readback.source[: self.rows, 0] = tokens

    def _sum_blocks(self, logits: Tensor, thresholds: Tensor | None, rules: Rules, blocks: Blocks) -> None:
        floats, _, slots = rules
        kernel_on(logits.device, kernels.block_kernel)[(self.rows, -(-logits.shape[1] // BLOCK))](
            logits, thresholds, floats, slots, blocks.maxima, blocks.sums, blocks.places,
            V=logits.shape[1], COLUMNS=COLUMNS, BLOCK=BLOCK, BLOCKS=blocks.maxima.shape[1],
            FIRST_TOKEN=blocks.first_token, FIRST_BLOCK=blocks.first_block,
        )  # fmt: skip

    def _choose(
        self, logits: Tensor, thresholds: Tensor | None, rules: Rules, blocks: Blocks, out: Tensor
    ) -> None:
        tables, count = self._tables, blocks.maxima.shape[1]
        kernel_on(logits.device, kernels.choose_kernel)[(self.rows,)](
            logits, thresholds, blocks.maxima, blocks.sums, blocks.places, *rules, self._inputs["indices"],
            tables.tokens, tables.counts, tables.history, out,
            V=logits.shape[1], COLUMNS=COLUMNS, BLOCK=BLOCK, BLOCKS=count, ROOM=triton.next_power_of_2(count),
            PREFIX=kernels.PREFIX, OUT=out.shape[1], LEARNS=self.kind is not Kind.PLAIN,
            FIRST_TOKEN=blocks.first_token, FIRST_BLOCK=blocks.first_block,
            OWN_BLOCKS=-(-logits.shape[1] // BLOCK), num_warps=8,
        )  # fmt: skip

    def _adjusted(self, logits: Tensor) -> Tensor:
        """fp32, after penalties and rules."""
        tables, slots, size = self._tables, self._inputs["slots"], self._vocab_size
        adjusted = torch.empty(logits.shape, dtype=torch.float32, device=logits.device)
        kernel_on(logits.device, kernels.adjust_kernel)[(self.rows, -(-size // BLOCK))](
            logits, adjusted, tables.counts, tables.floats, slots, V=size, COLUMNS=COLUMNS, BLOCK=BLOCK
        )
        kernel_on(logits.device, kernels.rules_kernel)[(self.rows,)](
            adjusted, tables.rules, tables.history, slots, self._inputs["indices"],
            V=size, RULES=kernels.RULES, FIELDS=FIELDS, PREFIX=kernels.PREFIX,
        )  # fmt: skip
        return adjusted


def _blocks_in(cells: Tensor, first_token: int, first_block: int) -> Blocks:
    """The blocks that lie as bits in int64 [3, rows, blocks]."""
    maxima, sums = cells[:2].view(torch.float64)
    return Blocks(maxima, sums, cells[2], first_token, first_block)


def readback(rows: int, kind: Kind, vocab_size: int, device: torch.device) -> Readback:
    """Reads back what programs of one kind put out: int32 [rows, 1 or more], first the tokens."""
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
