"""Requests that are paused, resumed and cancelled at random steps, and a device's memory for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from engine.llm_engine import LLMEngine, SequenceOutput
from engine.model_runner import StepResult
from engine.sequence import Sequence as EngineSequence
from tests.engine.fakes import FakeHost, check, digest

CHUNKS, CHUNK_TOKENS = 2, 6
"""Of a program for prompts."""
Program = TypeVar("Program")
changes = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from(["pause"] * 3 + ["resume", "cancel"]), st.integers(0, 5)),
    max_size=14,
)


@dataclass
class Memory:
    """Keys and values of a device, by block and place in it: of each position a digest of all up to it."""

    block_size: int
    values: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def write(self, start: int, keys: Sequence[int | bytes], table: list[int]) -> list[bytes]:
        """Stores the positions from `start` on; all that the last one can see."""
        for position, key in enumerate(keys, start=start):
            before = self._at(table, position - 1) if position else b""
            block, place = table[position // self.block_size], position % self.block_size
            self.values[block, place] = digest(before, position, key)
        return [self._at(table, position) for position in range(start + len(keys))]

    def _at(self, table: list[int], position: int) -> bytes:
        return self._read(table[position // self.block_size])[position % self.block_size]

    def _read(self, block: int) -> list[bytes]:
        return [self.values.get((block, place), b"never written") for place in range(self.block_size)]

    def _put(self, block: int, content: list[bytes]) -> None:
        self.values.update({(block, place): value for place, value in enumerate(content)})

    def host(self, slots: int) -> FakeHost | None:
        """A second tier for it."""
        return FakeHost(slots, self._read, self._put) if slots else None


def packed(lengths: list[int], longest: int, make: Callable[[], Program]) -> list[tuple[Program, int]]:
    """Programs for chunks of prompts, as `engine.programs.catalogue.Rooms` packs them into one size."""
    found: list[tuple[Program, int]] = []
    count = tokens = 0
    for length in lengths:
        if not found or count == CHUNKS or tokens + length > longest:
            found.append((make(), 0))
            count = tokens = 0
        count, tokens = count + 1, tokens + length
        found[-1] = (found[-1][0], count)
    return found


def check_each_alone(
    engine: LLMEngine,
    arrivals: Iterable[tuple[int, EngineSequence]],
    changes: list[tuple[int, str, int]],
    expected: dict[str, list[Any]],
    said: Callable[[StepResult], Any],
) -> None:
    """Each request that arrives at its step, and is not cancelled, gets what it gets alone."""
    events: dict[int, list[tuple[str, Any]]] = defaultdict(list)
    for at, sequence in arrivals:
        events[at].append(("add", sequence))
    for at, method, number in changes:
        events[at].append((method, str(number)))
    cancelled = {str(number) for _, method, number in changes if method == "cancel"}
    for name, outputs in play(engine, events).items():
        found = [said(output.result) for output in outputs if output.result]
        assert found == expected[name][: len(found)]
        assert name in cancelled or len(found) == len(expected[name])


def play(engine: LLMEngine, events: dict[int, list[tuple[str, Any]]]) -> dict[str, list[SequenceOutput]]:
    """Applies (name of a method, argument) at their steps, then resumes all; all outputs, by request."""
    outputs: dict[str, list[SequenceOutput]] = defaultdict(list)
    step = 0
    while engine.has_unfinished() or engine.scheduler.paused or step <= max(events):
        for method, argument in events.get(step, []):
            getattr(engine, method)(argument)
        if step > max(events) and not engine.has_unfinished():
            for sequence in engine.scheduler.paused:
                engine.resume(sequence.request_id)
        for output in engine.step():
            outputs[output.sequence.request_id].append(output)
        check(engine)
        step += 1
    return outputs
