"""The second tier of the cache: what the device forgot is brought back, and is what was computed."""

from __future__ import annotations

import pytest

from engine.config import EngineConfig
from engine.errors import EngineError
from engine.kv_cache.block_manager import BlockManager
from engine.kv_cache.figures import CacheFigures
from engine.kv_cache.host_tier import HostTier
from engine.llm_engine import LLMEngine
from engine.sequence import Sequence
from tests.engine.fakes import FakeRunner, check, expected_tokens, generated, make_engine, run_all

VOICE = list(range(100, 116))


def step(engine: LLMEngine, count: int) -> None:
    for _ in range(count):
        engine.step()
        check(engine)


def say(engine: LLMEngine, name: str, prompt: list[int], count: int = 6, lasting: int = 0) -> Sequence:
    """Runs a request to its end; its tokens are what it gets alone."""
    sequence = Sequence(name, prompt, count, num_lasting_tokens=lasting)
    engine.add(sequence)
    run_all(engine)
    assert generated(sequence) == expected_tokens(prompt, count)
    return sequence


def small_engine(host_slots: int, num_blocks: int = 8, **limits: object) -> LLMEngine:
    limits = {"bring_back": "always", **limits}
    return make_engine(FakeRunner(num_blocks=num_blocks, host_slots=host_slots), **limits)


def test_a_forgotten_prefix_is_brought_back_instead_of_computed() -> None:
    engine = small_engine(host_slots=32)
    say(engine, "first", [*VOICE, 1])
    say(engine, "burst", [7] * 20, 12)
    again = say(engine, "again", [*VOICE, 2])
    figures = engine.scheduler.figures
    assert again.num_cached_tokens == 16 and figures.host_positions == 16
    assert figures.brought_blocks == 4 and figures.brought_bytes == 400
    assert figures.stored_blocks >= 4 and figures.stall_seconds == 0.0


@pytest.mark.parametrize(("host_slots", "found"), [(0, 0), (2, 8)])
def test_a_host_with_little_room_keeps_beginnings(host_slots: int, found: int) -> None:
    """The end of a prefix is of no use without its beginning."""
    engine = small_engine(host_slots)
    say(engine, "first", [*VOICE, 1])
    say(engine, "burst", [7] * 20, 12)
    assert say(engine, "again", [*VOICE, 2]).num_cached_tokens == found


def test_a_voice_survives_a_burst_of_clips_that_nobody_asks_for_again() -> None:
    """Eight slots see a hundred blocks of clips. What was used once only is pushed out by them."""
    for lasting, found in ((16, 16), (0, 0)):
        engine = small_engine(host_slots=8)
        say(engine, "first", [*VOICE, 1], lasting=lasting)
        for number in range(25):
            say(engine, f"clip {number}", [1000 + number] * 12, 8)
        assert say(engine, "again", [*VOICE, 2]).num_cached_tokens == found


def test_a_prefix_that_two_used_survives_a_burst() -> None:
    engine = small_engine(host_slots=8)
    say(engine, "first", [*VOICE, 1])
    say(engine, "second", [*VOICE, 2])
    for number in range(25):
        say(engine, f"clip {number}", [1000 + number] * 12, 8)
    assert say(engine, "third", [*VOICE, 3]).num_cached_tokens == 16


def test_a_paused_sequence_that_lost_its_blocks_computes_nothing_again() -> None:
    engine = small_engine(host_slots=32)
    paused = Sequence("paused", [1, 2, 3, 4, 5], 12)
    engine.add(paused)
    step(engine, 4)
    engine.pause("paused")
    say(engine, "large", [9] * 20, 12)
    assert paused.block_table == []
    engine.resume("paused")
    engine.runner.batches.clear()
    run_all(engine)
    assert generated(paused) == expected_tokens([1, 2, 3, 4, 5], 12)
    assert engine.runner.batches[0] == [("paused", 8, 1)]


def test_three_times_the_paused_sessions_of_the_device_wait_and_none_computes_again() -> None:
    """The device holds five of them."""
    engine = small_engine(host_slots=48, num_blocks=16, max_num_seqs=4)
    sessions = [Sequence(str(number), [number] * 9, 20) for number in range(15)]
    for session in sessions:
        engine.add(session)
        step(engine, 3)
        engine.pause(session.request_id)
    engine.runner.batches.clear()
    for session in sessions:
        engine.resume(session.request_id)
        step(engine, 2)
        engine.pause(session.request_id)
    assert all(count == 1 for batch in engine.runner.batches for _, _, count in batch)
    assert engine.scheduler.figures.dropped_blocks == 0
    for session in sessions:
        engine.resume(session.request_id)
        run_all(engine)
        assert generated(session) == expected_tokens([int(session.request_id)] * 9, 20)


def test_who_queues_again_finds_all_that_nobody_took() -> None:
    """Also the part of a block, and without a second tier."""
    engine = make_engine(max_num_seqs=1)
    first, second = Sequence("first", [1] * 5, 8), Sequence("second", [2], 8)
    engine.add(first)
    step(engine, 2)
    engine.pause("first")
    engine.add(second)
    step(engine, 2)
    engine.resume("first")
    assert first.block_table == []
    engine.runner.batches.clear()
    run_all(engine)
    assert generated(first) == expected_tokens([1] * 5, 8)
    assert next(batch for batch in engine.runner.batches if batch[0][0] == "first") == [("first", 6, 1)]


def test_paused_sessions_are_not_pushed_out_by_clips() -> None:
    engine = small_engine(host_slots=6)
    paused = Sequence("paused", [1, 2, 3, 4, 5], 12)
    engine.add(paused)
    step(engine, 4)
    engine.pause("paused")
    for number in range(20):
        say(engine, f"clip {number}", [number] * 16, 12, lasting=16)
    engine.resume("paused")
    engine.runner.batches.clear()
    run_all(engine)
    assert engine.runner.batches[0] == [("paused", 8, 1)]
    assert generated(paused) == expected_tokens([1, 2, 3, 4, 5], 12)


def test_others_run_while_blocks_are_on_their_way() -> None:
    runner = FakeRunner(num_blocks=12, host_slots=32, arrives_after=lambda: 3)
    engine = make_engine(runner, bring_back="always")
    say(engine, "first", [*VOICE, 1])
    say(engine, "burst", [7] * 40, 9)
    running = Sequence("running", [5], 12)
    engine.add(running)
    step(engine, 2)
    again = Sequence("again", [*VOICE, 2], 6)
    engine.add(again)
    runner.batches.clear()
    step(engine, 3)
    assert again.arrival is not None
    assert [[name for name, _, _ in batch] for batch in runner.batches] == [["running"]] * 3
    run_all(engine)
    assert generated(again) == expected_tokens([*VOICE, 2], 6)
    assert generated(running) == expected_tokens([5], 12)
    assert engine.scheduler.figures.stall_seconds == 0.0


def test_blocks_on_their_way_are_waited_for_when_nothing_else_is_to_do() -> None:
    ticks = iter(range(10**6))
    runner = FakeRunner(num_blocks=8, host_slots=32, arrives_after=lambda: 10**6)
    config = EngineConfig(num_blocks=8, block_size=4, max_model_len=1000, bring_back="always")
    engine = LLMEngine(runner, config, clock=lambda: float(next(ticks)))
    say(engine, "first", [*VOICE, 1])
    say(engine, "burst", [7] * 20, 12)
    say(engine, "again", [*VOICE, 2])
    assert engine.scheduler.figures.brought_blocks == 4
    assert engine.scheduler.figures.stall_seconds > 0


@pytest.mark.parametrize("how", ["cancel", "pause"])
def test_whose_blocks_are_on_their_way_may_leave(how: str) -> None:
    runner = FakeRunner(num_blocks=8, host_slots=32, arrives_after=lambda: 5)
    engine = make_engine(runner, bring_back="always")
    say(engine, "first", [*VOICE, 1])
    say(engine, "burst", [7] * 20, 12)
    running, leaving = Sequence("running", [5], 9), Sequence("leaving", [*VOICE, 2], 6)
    engine.add(running)
    step(engine, 1)
    engine.add(leaving)
    step(engine, 1)
    assert leaving.arrival is not None
    getattr(engine, how)("leaving")
    check(engine)
    run_all(engine)
    say(engine, "other", [8] * 20, 12)
    engine.resume("leaving")
    run_all(engine)
    assert generated(running) == expected_tokens([5], 9)
    assert generated(leaving) == (expected_tokens([*VOICE, 2], 6) if how == "pause" else [])


@pytest.mark.parametrize(("seconds", "found"), [(1e-6, 16), (10.0, 0)])
def test_what_is_computed_faster_than_copied_is_computed(seconds: float, found: int) -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 0.01
        return now[0]

    runner = FakeRunner(num_blocks=8, host_slots=32)
    assert runner.host_memory is not None
    runner.host_memory.seconds = seconds
    engine = LLMEngine(runner, EngineConfig(num_blocks=8, block_size=4, max_model_len=1000), clock=clock)
    say(engine, "first", [*VOICE, 1])
    say(engine, "burst", [7] * 20, 12)
    assert say(engine, "again", [*VOICE, 2]).num_cached_tokens == found


def engine_between_steps(step_seconds: float, copy_seconds: float, voices: list[list[int]]) -> LLMEngine:
    """Ten sequences run. Each of the voices, of four blocks and one copy, lies on the host alone."""
    now = [0.0]

    def clock() -> float:
        now[0] += step_seconds
        return now[0]

    runner = FakeRunner(num_blocks=90, host_slots=128, arrives_after=lambda: 3)
    assert runner.host_memory is not None
    config = EngineConfig(
        num_blocks=90, block_size=4, max_model_len=1000, max_num_seqs=20, bring_back="always"
    )
    engine = LLMEngine(runner, config, clock=clock)
    for number, voice in enumerate(voices):
        say(engine, f"first {number}", [*voice, 1])
    say(engine, "burst", [7] * 350, 9)
    for number in range(10):
        engine.add(Sequence(f"running {number}", [number], 12))
    step(engine, 2)
    runner.host_memory.seconds = copy_seconds / 4
    return engine


def who_came_back(engine: LLMEngine) -> list[str]:
    """In the next step."""
    engine.runner.batches.clear()
    step(engine, 1)
    return [name for name, _, _ in engine.runner.batches[0] if not name.startswith("running")]


@pytest.mark.parametrize(("step_seconds", "back"), [(0.1, ["again"]), (1e-3, [])])
def test_a_copy_that_is_short_beside_a_step_is_waited_for(step_seconds: float, back: list[str]) -> None:
    """A device has 5 ms to compute where its steps take a tenth of a second."""
    engine = engine_between_steps(step_seconds, 5e-3, [VOICE])
    engine.add(Sequence("again", [*VOICE, 2], 6))
    assert who_came_back(engine) == back


def test_a_step_waits_for_many_short_copies_no_longer_than_for_one() -> None:
    """Two of 0.4 ms fit into the millisecond of a step that is short, the others come beside it; and the next
    step has a millisecond, too."""
    voices = [[100 * number] * 16 for number in range(1, 6)]
    engine = engine_between_steps(1e-3, 4e-4, voices)
    for number, voice in enumerate(voices[:4]):
        engine.add(Sequence(f"again {number}", [*voice, 2], 6))
    assert who_came_back(engine) == ["again 0", "again 1"]
    engine.add(Sequence("again 4", [*voices[4], 2], 6))
    assert who_came_back(engine) == ["again 0", "again 1", "again 4"]
    run_all(engine)
    assert engine.scheduler.figures.stall_seconds == 0.0


def test_without_prefix_caching_there_is_no_second_tier() -> None:
    engine = small_engine(host_slots=32, enable_prefix_caching=False)
    say(engine, "first", [*VOICE, 1])
    say(engine, "burst", [7] * 20, 12)
    assert say(engine, "again", [*VOICE, 2]).num_cached_tokens == 0
    assert engine.scheduler.figures.stored_blocks == 0


def test_a_miscount_of_what_is_expected_is_noticed() -> None:
    """The check that all other tests rely on."""
    host = FakeRunner(host_slots=4).host_memory
    assert host is not None
    manager = BlockManager(8, 4, host=HostTier(host, CacheFigures()))
    sequence = Sequence("a", [1] * 9, 5)
    assert manager.allocate(sequence)
    manager.commit(sequence, 9)
    manager.free(sequence, returns=True)
    manager.check_invariants([sequence])
    with pytest.raises(EngineError, match="miscounted"):
        manager.check_invariants([])
