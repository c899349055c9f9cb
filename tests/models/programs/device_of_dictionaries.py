"""A device made of dictionaries for `models.voxcpm.programs.runner.ProgramRunner`.

As on the real one, launches take effect in order, results are read later, the next patch follows from the
last one in a stream's place, audio from all patches that its place has seen, and everything from the adapter
that lies in a row's slot, or in the weights, when it is launched.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.model_runner import StepResult
from engine.programs.slots import Slots
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence
from models.lora.bank import AdapterBank, Generation
from models.voxcpm.programs.language_program import LanguageRow
from models.voxcpm.programs.patch_program import PatchRow
from models.voxcpm.programs.runner import ProgramRunner
from models.voxcpm.vae.waveform_streams import WaveformStreams
from tests.engine.fakes import digest
from tests.models.programs.random_traffic import CHUNK_TOKENS, Memory, packed

NUM_STEPS, SILENCE = 10, b""


@dataclass
class State:
    """As `GenerationState`. A clip ends by itself where `new_patch` says so."""

    seed: int
    max_patches: int
    num_steps: int
    index: int = 0
    cfg_value: float = 1.0
    adapter: Any = None


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


def changed(keys: list[Any], mark: float) -> list[Any]:
    """What positions hold with an adapter; 0 is none."""
    return [digest(key, mark) for key in keys] if mark else keys


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
    bank: AdapterBank | None = None
    mark: Callable[[int], float] = lambda slot: 0.0
    """Of a slot of the bank, -1 for none: what tells the adapter that a launch finds there."""
    conditions: list[list[bytes]] = field(default_factory=list)
    """What the rows that the last language program computed can see."""
    served_freely: int = 0

    def __post_init__(self) -> None:
        self.memory = Memory(self.block_size)
        self.host_memory = self.memory.host(self.host_slots)
        self.ahead = ProgramRunner(self, self.streams, self.block_size, self.noise, self.result, self.bank)  # type: ignore

    def run(self, batch: list[ScheduledSequence]) -> list[StepResult | None]:
        return self.ahead.run(batch, self.run_freely)

    def release(self, sequence: Sequence) -> None:
        self.streams.release(sequence)
        self.ahead.release(sequence)

    def for_decodes(self, count: int, longest: int) -> Languages:
        return Languages(self, decodes=True)

    def for_patches(self, count: int, begins: bool) -> Patches:
        return Patches(self)

    def adapted(self, program: Languages | Patches, adapters: Generation) -> Languages | Patches:
        assert self.bank is not None and adapters is self.bank.generation
        program.has_adapters = True
        return program

    def marks(self, program: Languages | Patches) -> list[float]:
        """Of its rows."""
        assert program.has_adapters or all(row.adapter < 0 for row in program.rows)
        return [self.mark(row.adapter) for row in program.rows]

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
    has_adapters: bool = False

    def fill(self, rows: list[LanguageRow]) -> None:
        self.rows = rows

    def launch(self) -> None:
        last, write = self.device.streams.last, self.device.memory.write
        keys = [[last[row.slot]] if self.decodes else row.keys for row in self.rows]
        rows = zip(self.rows, keys, self.device.marks(self), strict=True)
        seen = [write(row.start, changed(new, mark), row.block_table) for row, new, mark in rows]
        self.device.conditions = [values for values, row in zip(seen, self.rows, strict=True) if row.samples]

    def mark(self) -> Landed:
        return Landed([])


@dataclass
class Patches:
    """A patch program."""

    device: Device
    has_adapters: bool = False

    def fill(self, rows: list[PatchRow]) -> None:
        self.rows = rows

    def launch(self, num_steps: int) -> Landed:
        conditions = self.device.conditions[: len(self.rows)]
        rows = zip(conditions, self.rows, self.device.marks(self), strict=True)
        return Landed(
            [self.device.patch(changed(values, mark), row, num_steps) for values, row, mark in rows]
        )


@dataclass
class Landed:
    found: list[Found]

    def results(self) -> list[Found]:
        return self.found


def alone(prompt: list[int | bytes], state: State, mark: float = 0.0) -> list[tuple[bytes, bytes]]:
    """Patches and audio, computed without any engine. mark: of its adapter."""
    keys, values, found = list(prompt), [], []
    heard: list[bytes] = []
    for key in reversed(prompt):
        if not isinstance(key, bytes):
            break
        heard.insert(0, key)
    while not found or (len(found) < state.max_patches and found[-1][0][0] >= 12):
        for position in range(len(values), len(keys)):
            [key] = changed([keys[position]], mark)
            values.append(digest(values[-1] if values else b"", position, key))
        last = keys[-1] if isinstance(keys[-1], bytes) else SILENCE
        patch = new_patch(changed(values, mark), last, state.num_steps, state.seed, len(found))
        heard.append(patch)
        found.append((patch, digest(heard)))
        keys.append(patch)
    return found


def trailing_patches(prompt: list[int | bytes]) -> int:
    """At the end of a prompt that goes on from another attempt."""
    return len(list(itertools.takewhile(lambda key: isinstance(key, bytes), reversed(prompt))))
