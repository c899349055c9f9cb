"""A paused sequence is in no batch, keeps its blocks while nobody needs them, and misses nothing by it."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.llm_engine import LLMEngine
from engine.loop import EngineLoop, PauseChange
from engine.scheduling.playback import lead_seconds
from engine.sequence import Sequence, SequenceStatus
from tests.engine.fakes import FakeRunner, check, expected_tokens, generated, make_engine, run_all
from tests.engine.stepping import Adapter, Request


def step(engine: LLMEngine, count: int) -> None:
    for _ in range(count):
        engine.step()
        check(engine)


def test_a_paused_sequence_is_in_no_batch_and_keeps_its_blocks() -> None:
    engine = make_engine()
    paused, other = Sequence("paused", [1, 2, 3], 12), Sequence("other", [4, 5], 6)
    engine.add(paused)
    engine.add(other)
    step(engine, 3)
    blocks = list(paused.block_table)
    assert engine.pause("paused")
    engine.runner.batches.clear()
    run_all(engine)
    assert {name for batch in engine.runner.batches for name, _, _ in batch} == {"other"}
    assert paused.block_table == blocks and paused.status is SequenceStatus.PAUSED
    assert not engine.has_unfinished() and "paused" in engine.scheduler
    assert engine.resume("paused")
    engine.runner.batches.clear()
    run_all(engine)
    assert generated(paused) == expected_tokens([1, 2, 3], 12)
    assert engine.runner.batches[0] == [("paused", 5, 1)]  # nothing was computed again


def test_the_blocks_of_a_paused_sequence_go_to_who_needs_them() -> None:
    engine = make_engine(FakeRunner(num_blocks=6, block_size=4))
    paused = Sequence("paused", [1, 2, 3, 4, 5], 12)
    engine.add(paused)
    step(engine, 2)
    engine.pause("paused")
    large = Sequence("large", [9] * 10, 14)
    engine.add(large)
    run_all(engine)
    assert generated(large) == expected_tokens([9] * 10, 14)
    assert paused.block_table == [] and engine.scheduler.num_preemptions == 1
    engine.resume("paused")
    run_all(engine)
    assert generated(paused) == expected_tokens([1, 2, 3, 4, 5], 12)


def test_who_is_paused_in_the_queue_lets_the_others_pass() -> None:
    engine = make_engine(max_num_seqs=1)
    first, second = Sequence("first", [1], 4), Sequence("second", [2], 4)
    engine.add(first)
    engine.add(second)
    engine.pause("first")
    run_all(engine)
    assert second.stopped and not first.stopped
    engine.resume("first")
    run_all(engine)
    assert generated(first) == expected_tokens([1], 4)


def test_a_full_engine_queues_who_resumes() -> None:
    engine = make_engine(max_num_seqs=1)
    first, second = Sequence("first", [1], 8), Sequence("second", [2], 8)
    engine.add(first)
    step(engine, 2)
    engine.pause("first")
    engine.add(second)
    step(engine, 2)
    engine.resume("first")
    run_all(engine)
    assert all(len(batch) == 1 for batch in engine.runner.batches)
    assert generated(first) == expected_tokens([1], 8)
    assert generated(second) == expected_tokens([2], 8)


def test_a_paused_sequence_can_be_cancelled() -> None:
    engine = make_engine()
    engine.add(Sequence("a", [1, 2, 3], 9))
    step(engine, 2)
    engine.pause("a")
    assert engine.cancel("a") and not engine.cancel("a")
    check(engine)
    assert engine.scheduler.block_manager.num_free_blocks == engine.config.num_blocks
    assert engine.runner.released == ["a"]
    assert not engine.pause("a") and not engine.resume("a")


def test_pausing_and_resuming_twice_is_harmless() -> None:
    engine = make_engine()
    sequence = Sequence("a", [1, 2, 3], 9)
    engine.add(sequence)
    step(engine, 2)
    assert engine.resume("a") and engine.pause("a") and engine.pause("a")
    assert engine.resume("a") and engine.resume("a")
    run_all(engine)
    assert generated(sequence) == expected_tokens([1, 2, 3], 9)


@pytest.mark.parametrize("steps", [0, 10], ids=["before its audio", "amid its audio"])
def test_a_pause_takes_nothing_from_the_lead_over_the_listener(steps: int) -> None:
    now = [100.0]
    engine = LLMEngine(FakeRunner(), make_engine().config, clock=lambda: now[0])
    sequence = Sequence("a", [1], 30, token_seconds=0.1)
    engine.add(sequence)
    step(engine, steps)
    now[0] += 0.25
    before = lead_seconds(sequence, now[0])
    engine.pause("a")
    now[0] += 60
    engine.resume("a")
    assert lead_seconds(sequence, now[0]) == pytest.approx(before)


@given(
    counts=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    pauses=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 15), st.integers(1, 10)), max_size=8),
    num_blocks=st.integers(10, 14),
    max_num_seqs=st.integers(1, 4),
)
def test_whatever_is_paused_each_sequence_gets_what_it_gets_alone(
    counts: list[int], pauses: list[tuple[int, int, int]], num_blocks: int, max_num_seqs: int
) -> None:
    engine = make_engine(FakeRunner(num_blocks=num_blocks, block_size=2), max_num_seqs=max_num_seqs)
    sequences = [Sequence(str(number), [number % 2, 7], count) for number, count in enumerate(counts)]
    for sequence in sequences:
        engine.add(sequence)
    last = max([at + length for _, at, length in pauses], default=0)
    now = 0
    while engine.has_unfinished() or now <= last:
        for number, at, length in pauses:
            if at == now:
                engine.pause(str(number))
            if at + length == now:
                engine.resume(str(number))
        engine.step()
        check(engine)
        now += 1
    for sequence in sequences:
        engine.resume(sequence.request_id)
    run_all(engine)
    for number, (sequence, count) in enumerate(zip(sequences, counts, strict=True)):
        assert generated(sequence) == expected_tokens([number % 2, 7], count)
    assert engine.scheduler.block_manager.num_free_blocks == num_blocks


class Watched(Adapter):
    """Counts how often the loop asks whether there is work."""

    asked = 0

    def has_unfinished(self) -> bool:
        self.asked += 1
        return super().has_unfinished()


@pytest.fixture
def engine() -> Watched:
    return Watched()


def test_the_stream_says_where_it_was_paused_and_goes_on(loop: EngineLoop, engine: Watched) -> None:
    engine.gate.clear()
    stream = loop.submit(Request("a", [1, 2], 6))
    assert engine.in_step.wait(10)
    stream.pause()
    engine.gate.set()
    outputs = [next(stream), next(stream)]
    assert outputs[1] == PauseChange("a", paused=True)
    stream.resume()
    rest = list(stream)
    assert rest[0] == PauseChange("a", paused=False)
    tokens = [output.token for output in (outputs[0], *rest[1:])]
    assert tokens == expected_tokens([1, 2], 6)


def test_a_loop_with_nothing_but_paused_requests_sleeps(loop: EngineLoop, engine: Watched) -> None:
    stream = loop.submit(Request("a", [1], 900))
    next(stream)
    stream.pause()
    while not isinstance(next(stream), PauseChange):
        pass
    time.sleep(0.02)  # the thread goes back to its wait
    asked, steps = engine.asked, loop.step_count
    threading.Event().wait(0.2)
    assert (engine.asked, loop.step_count) == (asked, steps)
    stream.cancel()
    assert list(stream) == []
    assert not engine.llm.scheduler.get("a")


def test_a_pause_that_comes_too_late_is_not_confirmed(loop: EngineLoop) -> None:
    stream = loop.submit(Request("a", [1], 3))
    assert len(list(stream)) == 3
    stream.pause()
    assert list(stream) == []
