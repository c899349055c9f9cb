"""Requests that are paused, resumed and cancelled at random steps, and a second tier for their blocks."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import strategies as st

from engine.llm_engine import LLMEngine, SequenceOutput
from tests.engine.fakes import FakeHost, check

changes = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from(["pause"] * 3 + ["resume", "cancel"]), st.integers(0, 5)),
    max_size=14,
)


def host_of(store: dict[tuple[int, int], bytes], block_size: int, host_slots: int) -> FakeHost | None:
    """A second tier of a device whose keys and values are in `store`, by block and place in it."""

    def read(block: int) -> list[bytes]:
        return [store.get((block, place), b"never written") for place in range(block_size)]

    def write(block: int, content: list[bytes]) -> None:
        store.update({(block, place): value for place, value in enumerate(content)})

    return FakeHost(host_slots, read, write) if host_slots else None


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
