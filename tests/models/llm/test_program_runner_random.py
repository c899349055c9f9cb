"""Steps of text models launched ahead, under random traffic, on a device made of dictionaries: whatever else
happens, each request gets what it gets alone.

As on the real one, launches take effect in order, results are read later, and the next token follows from the
last one in a slot.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.model_runner import StepResult
from engine.programs.ahead import Chunk
from engine.programs.slots import Slots
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence
from models.llm.programs.runner import ProgramRunner
from models.llm.programs.tables import PREFIX
from models.llm.sampler import Answer, Sampled
from models.llm.sampling_params import SamplingParams
from tests.engine.fakes import digest, make_engine
from tests.models.programs.random_traffic import CHUNK_TOKENS, Memory, changes, check_each_alone, packed

FREELY = SamplingParams(bad_words=(tuple(range(PREFIX + 2)),))
"""Rules that no slot has room for."""
Seen = list[bytes]
"""Values of all positions that a row can see."""


def next_token(seen: Seen, seed: int, index: int) -> int:
    return int.from_bytes(digest(seen, seed, index)[:4], "little")


def ends(token: int) -> bool:
    return token % 16 == 0


class Tables(Slots):
    def __init__(self, num_slots: int) -> None:
        super().__init__(num_slots)
        self.last, self.seeds = [-1] * (num_slots + 1), [-1] * (num_slots + 1)

    def slots(self, sequences: list[Sequence]) -> list[int]:
        slots, new = self.find(sequences)
        for index in new:
            self.last[slots[index]] = sequences[index].token_ids[-1]
            self.seeds[slots[index]] = sequences[index].payload.answer.seed
        return slots


@dataclass
class Device:
    """Computes rows and tokens when they are launched; its own hidden states are `Seen`, one for each row."""

    num_blocks: int
    block_size: int
    tables: Tables
    max_model_len: int = 1000
    host_slots: int = 0
    decoded: list[list[int]] = field(default_factory=list)
    """Of every launch of decodes the positions, row after row."""
    hidden_rows: list[Seen] = field(default_factory=list)
    chunks: Any = None
    hidden: Any = None

    def __post_init__(self) -> None:
        self.memory = Memory(self.block_size)
        self.host_memory = self.memory.host(self.host_slots)
        self.chunks, self.hidden = Rooms(self), Hidden(self)
        self.ahead = ProgramRunner(self, self.tables, self.block_size, self.compute_ends, self.result)  # type: ignore

    def run(self, batch: list[ScheduledSequence]) -> list[StepResult | None]:
        return self.ahead.run(batch, self.run_freely)

    def release(self, sequence: Sequence) -> None:
        self.ahead.release(sequence)

    def for_decodes(self, count: int, longest: int) -> Languages:
        return Languages(self)

    def for_tokens(self, count: int, kind: int) -> Tokens:
        return Tokens(self)

    def compute_ends(self, batch: list[ScheduledSequence]) -> list[Seen]:
        seen = [(self.attend(row), row.samples) for row in batch]
        return [values for values, samples in seen if samples]

    def run_freely(self, batch: list[ScheduledSequence]) -> list[StepResult | None]:
        results: list[StepResult | None] = []
        for row in batch:
            seen, answer = self.attend(row), row.sequence.payload.answer
            assert answer.params is FREELY
            token = next_token(seen, answer.seed, answer.index)
            results.append(self.result(row.sequence, Sampled(token)) if row.samples else None)
        return results

    def result(self, sequence: Sequence, sampled: Sampled) -> StepResult:
        sequence.payload.answer.index += 1
        return StepResult(sampled.token, ends(sampled.token), "stop" if ends(sampled.token) else None)

    def attend(self, row: ScheduledSequence | Chunk) -> Seen:
        tokens = row.sequence.token_ids[row.start : row.start + row.count]
        return self.memory.write(row.start, tokens, row.sequence.block_table)


@dataclass
class Hidden:
    device_of_rows: Device
    device = torch.device("cpu")

    def __setitem__(self, rows: slice, values: list[Seen]) -> None:
        self.device_of_rows.hidden_rows = list(values)


@dataclass
class Rooms:
    device: Device
    longest_chunk = CHUNK_TOKENS

    def pack(self, lengths: list[int]) -> list[tuple[Languages, int]]:
        return packed(lengths, self.longest_chunk, lambda: Languages(self.device))


@dataclass
class Languages:
    """A language program."""

    device: Device

    def fill_decodes(self, starts: list[int], tables: list[list[int]], slots: list[int]) -> None:
        last, write = self.device.tables.last, self.device.memory.write
        self.device.decoded.append(starts)
        rows = list(zip(starts, tables, slots, strict=True))
        self._launch = lambda: [write(start, [last[slot]], table) for start, table, slot in rows]

    def fill_chunks(self, chunks: list[Chunk]) -> None:
        self._launch = lambda: self.device.compute_ends(chunks)  # type: ignore[arg-type]

    def launch(self) -> None:
        self.device.hidden_rows = self._launch()


@dataclass
class Tokens:
    """A sampling program, and what it has drawn."""

    device: Device

    def fill(self, slots: list[int], indices: list[int], answers: list[Answer]) -> None:
        self._rows = list(zip(slots, indices, strict=True))

    def launch(self) -> Tokens:
        tables = self.device.tables
        self._found = [
            next_token(seen, tables.seeds[slot], index)
            for seen, (slot, index) in zip(self.device.hidden_rows, self._rows, strict=True)
        ]
        for (slot, _), token in zip(self._rows, self._found, strict=True):
            tables.last[slot] = token
        return self

    def results(self) -> list[int]:
        return self._found


def alone(prompt: list[int], seed: int, count: int) -> list[int]:
    """The answer, computed without any engine."""
    tokens, values, answer = list(prompt), [], []
    while len(answer) < count and not (answer and ends(answer[-1])):
        for position in range(len(values), len(tokens)):
            values.append(digest(values[-1] if values else b"", position, tokens[position]))
        answer.append(next_token(values, seed, len(answer)))
        tokens.append(answer[-1])
    return answer


def state(number: int, freely: bool) -> Any:
    params = FREELY if freely else SamplingParams()
    rules = SimpleNamespace(end_ids=[])
    return SimpleNamespace(
        answer=SimpleNamespace(params=params, seed=number, index=0, kind=None, logits=rules)
    )


requests = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), min_size=1, max_size=9),
        st.integers(1, 12),
        st.sampled_from([False, False, False, True]),
        st.integers(0, 6),
    ),
    min_size=2,
    max_size=6,
)


@pytest.mark.parametrize("block_size", [1, 2, 4])
@settings(max_examples=max(200, settings.default.max_examples))
@given(
    requests=requests,
    changes=changes,
    spare_blocks=st.integers(0, 4),
    max_num_seqs=st.integers(1, 4),
    max_prefill_tokens=st.integers(1, 9),
    host_slots=st.sampled_from([0, 3, 40]),
)
def test_any_traffic_gives_each_request_what_it_gets_alone(
    block_size: int,
    requests: list[tuple[list[int], int, bool, int]],
    changes: list[tuple[int, str, int]],
    spare_blocks: int,
    max_num_seqs: int,
    max_prefill_tokens: int,
    host_slots: int,
) -> None:
    blocks = -(-20 // block_size) + spare_blocks
    device = Device(blocks, block_size, Tables(max_num_seqs), host_slots=host_slots)
    limits = {"max_num_seqs": max_num_seqs, "max_num_batched_tokens": max_num_seqs + 8}
    limits |= {"max_prefill_tokens": max_prefill_tokens, "look_ahead": True}
    engine = make_engine(device, **limits)  # type: ignore[arg-type]
    expected, arrivals = {}, []
    for number, (prompt, count, freely, arrival) in enumerate(requests):
        expected[str(number)] = alone(prompt, number, count)
        arrivals.append((arrival, Sequence(str(number), list(prompt), count, state(number, freely))))
    check_each_alone(engine, arrivals, changes, expected, lambda result: result.token)
    assert sorted(device.tables._free) == list(range(max_num_seqs))
    assert not device.ahead._kept


def test_decodes_are_laid_out_by_falling_length() -> None:
    device = Device(40, 2, Tables(4))
    engine = make_engine(device, max_num_seqs=4, max_num_batched_tokens=40, look_ahead=True)
    expected = {}
    for number, length in enumerate((2, 7, 4)):
        expected[str(number)] = alone([1] * length, number, 6)
        engine.add(Sequence(str(number), [1] * length, 6, state(number, False)))
    found = defaultdict(list)
    while engine.has_unfinished():
        for output in engine.step():
            found[output.sequence.request_id].append(output.result.token)
    assert found == expected
    assert device.decoded[0] == [7, 4, 2]
    assert all(starts == sorted(starts, reverse=True) for starts in device.decoded)
