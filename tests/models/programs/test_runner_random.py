"""Steps launched ahead, under random traffic, on a device made of dictionaries: whatever else happens, each
request gets what it gets alone.

As on the real one, launches take effect in order, results are read later, the next patch follows from the
last one in a stream's place, and audio from all patches that its place has seen.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.model_runner import StepResult
from engine.programs.slots import Slots
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence
from models.voxcpm.programs.language_program import LanguageRow
from models.voxcpm.programs.patch_program import PatchRow
from models.voxcpm.programs.runner import ProgramRunner
from models.voxcpm.vae.waveform_streams import WaveformStreams
from tests.engine.fakes import digest, make_engine
from tests.models.programs.random_traffic import CHUNK_TOKENS, Memory, changes, check_each_alone, packed

NUM_STEPS, SILENCE = 10, b""


@dataclass
class State:
    """As `GenerationState`. A clip ends by itself where `new_patch` says so."""

    seed: int
    max_patches: int
    num_steps: int
    index: int = 0
    cfg_value: float = 1.0
    adapter: None = None


class Found(NamedTuple):
    patch: bytes
    audio: bytes


class Streams(WaveformStreams):
    """Places of the real ones; a place is its last patch, and all that was decoded in it."""

    def __init__(self, num_slots: int) -> None:
        Slots.__init__(self, num_slots)
        self.last = [b"nobody's"] * (num_slots + 1)
        self.heard: list[list[bytes]] = [[b"nobody's"] for _ in self.last]

    def slots(self, sequences: list[Sequence]) -> list[int]:
        slots, fresh = self.places(sequences)
        for slot in fresh:
            self.begin(slot)
        return slots

    def begin(self, slot: int, history: list[bytes] | None = None) -> None:
        self.heard[slot] = history or []
        self.last[slot] = history[-1] if history else SILENCE

    def put_last(self, slot: int, key: bytes) -> None:
        self.last[slot] = key

    def _start(self, slot: int, sequence: Sequence) -> None:
        begin = len(sequence) - sequence.payload.index
        while begin > 0 and isinstance(sequence.token_ids[begin - 1], bytes):
            begin -= 1
        self.begin(slot, list(sequence.token_ids[begin:]))


def new_patch(values: list[bytes], last: bytes, num_steps: int, seed: int, index: int) -> bytes:
    return digest(values, last, num_steps, seed, index)


@dataclass
class Device:
    """Computes language rows and patches when they are launched."""

    num_blocks: int
    block_size: int
    streams: Streams
    num_steps: int = NUM_STEPS
    max_model_len: int = 1000
    host_slots: int = 0
    conditions: list[list[bytes]] = field(default_factory=list)
    """What the rows that the last language program computed can see."""
    served_freely: int = 0

    def __post_init__(self) -> None:
        self.memory = Memory(self.block_size)
        self.host_memory = self.memory.host(self.host_slots)
        self.ahead = ProgramRunner(self, self.streams, self.block_size, self.noise, self.result)  # type: ignore

    def run(self, batch: list[ScheduledSequence]) -> list[StepResult | None]:
        return self.ahead.run(batch, self.run_freely)

    def release(self, sequence: Sequence) -> None:
        self.streams.release(sequence)
        self.ahead.release(sequence)

    def for_decodes(self, count: int, longest: int) -> Languages:
        return Languages(self, decodes=True)

    def for_patches(self, count: int, begins: bool) -> Patches:
        return Patches(self)

    def longest_chunk(self, has_audio: bool) -> int:
        return CHUNK_TOKENS - has_audio

    def pack(self, lengths: list[int], has_audio: bool) -> list[tuple[Languages, int]]:
        return packed(lengths, self.longest_chunk(has_audio), lambda: Languages(self, decodes=False))

    def noise(self, state: State, index: int) -> tuple[int, int]:
        return state.seed, index

    def result(self, state: State, found: Found) -> StepResult:
        state.index += 1
        stopped = state.index >= state.max_patches or found.patch[0] < 12
        return StepResult(found.patch, stopped, "stop" if stopped else None, found.audio)

    def run_freely(self, batch: list[ScheduledSequence]) -> list[StepResult | None]:
        self.served_freely += len(batch)
        results: list[StepResult | None] = []
        for row in batch:
            keys, state = row.sequence.token_ids[row.start : row.start + row.count], row.sequence.payload
            values = self.memory.write(row.start, keys, row.sequence.block_table)
            if row.samples:
                slot = self.streams.slots([row.sequence])[0]
                noise = self.noise(state, state.index)
                found = self.patch(values, PatchRow(slot, noise, 1.0), state.num_steps)
            results.append(self.result(state, found) if row.samples else None)
        return results

    def patch(self, values: list[bytes], row: PatchRow, num_steps: int) -> Found:
        if row.fresh:
            self.streams.begin(row.slot)
        patch = new_patch(values, self.streams.last[row.slot], num_steps, *row.noise)
        self.streams.last[row.slot] = patch
        self.streams.heard[row.slot] = [*self.streams.heard[row.slot], patch]
        return Found(patch, digest(self.streams.heard[row.slot]))


@dataclass
class Languages:
    """A language program of decodes or of chunks."""

    device: Device
    decodes: bool

    def fill(self, rows: list[LanguageRow]) -> None:
        self.rows = rows

    def launch(self) -> None:
        last, write = self.device.streams.last, self.device.memory.write
        keys = [[last[row.slot]] if self.decodes else row.keys for row in self.rows]
        seen = [write(row.start, new, row.block_table) for row, new in zip(self.rows, keys, strict=True)]
        self.device.conditions = [values for values, row in zip(seen, self.rows, strict=True) if row.samples]

    def mark(self) -> Landed:
        return Landed([])


@dataclass
class Patches:
    """A patch program."""

    device: Device

    def fill(self, rows: list[PatchRow]) -> None:
        self.rows = rows

    def launch(self, num_steps: int) -> Landed:
        conditions = self.device.conditions[: len(self.rows)]
        found = zip(conditions, self.rows, strict=True)
        return Landed([self.device.patch(values, row, num_steps) for values, row in found])


@dataclass
class Landed:
    found: list[Found]

    def results(self) -> list[Found]:
        return self.found


def alone(prompt: list[int | bytes], state: State) -> list[tuple[bytes, bytes]]:
    """Patches and audio, computed without any engine."""
    keys, values, found = list(prompt), [], []
    heard: list[bytes] = []
    for key in reversed(prompt):
        if not isinstance(key, bytes):
            break
        heard.insert(0, key)
    while not found or (len(found) < state.max_patches and found[-1][0][0] >= 12):
        for position in range(len(values), len(keys)):
            values.append(digest(values[-1] if values else b"", position, keys[position]))
        last = keys[-1] if isinstance(keys[-1], bytes) else SILENCE
        patch = new_patch(values, last, state.num_steps, state.seed, len(found))
        heard.append(patch)
        found.append((patch, digest(heard)))
        keys.append(patch)
    return found


def trailing_patches(prompt: list[int | bytes]) -> int:
    """At the end of a prompt that goes on from another attempt."""
    return len(list(itertools.takewhile(lambda key: isinstance(key, bytes), reversed(prompt))))


requests = st.lists(
    st.tuples(
        st.lists(st.sampled_from([0, 1, b"a"]), min_size=1, max_size=9),
        st.integers(1, 12),
        st.sampled_from([NUM_STEPS, NUM_STEPS, NUM_STEPS, 4]),
        st.integers(0, 6),
    ),
    min_size=2,
    max_size=6,
)


@pytest.mark.parametrize("block_size", [1, 2, 4])
@settings(max_examples=max(400, settings.default.max_examples))
@given(
    requests=requests,
    changes=changes,
    spare_blocks=st.integers(0, 4),
    max_num_seqs=st.integers(1, 4),
    max_decodes=st.none() | st.integers(1, 2),
    max_prefill_tokens=st.integers(1, 9),
    host_slots=st.sampled_from([0, 3, 40]),
)
def test_any_traffic_gives_each_request_what_it_gets_alone(
    block_size: int,
    requests: list[tuple[list[int | bytes], int, int, int]],
    changes: list[tuple[int, str, int]],
    spare_blocks: int,
    max_num_seqs: int,
    max_decodes: int | None,
    max_prefill_tokens: int,
    host_slots: int,
) -> None:
    num_blocks = -(-20 // block_size) + spare_blocks
    device = Device(num_blocks, block_size, Streams(max_num_seqs), host_slots=host_slots)
    limits = {"max_num_seqs": max_num_seqs, "max_num_batched_tokens": max_num_seqs + 8}
    limits |= {"max_decodes": max_decodes, "max_prefill_tokens": max_prefill_tokens, "look_ahead": True}
    engine = make_engine(device, **limits)  # type: ignore[arg-type]
    expected, arrivals = {}, []
    for number, (prompt, count, num_steps, arrival) in enumerate(requests):
        state = State(number, count, num_steps)
        expected[str(number)] = alone(prompt, state)
        resumed = trailing_patches(prompt) if number % 2 else 0
        sequence = Sequence(
            str(number), prompt, count, state, token_seconds=number % 2, num_resumed_tokens=resumed
        )
        arrivals.append((arrival, sequence))
    check_each_alone(engine, arrivals, changes, expected, lambda result: (result.token, result.output))
    assert engine.scheduler.block_manager.num_free_blocks == num_blocks
    assert sorted(device.streams._free) == list(range(max_num_seqs))
    assert not device.ahead._kept and not device.served_freely
