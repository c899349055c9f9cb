"""Scheduler: what each step computes, who is admitted, who gives way."""

from __future__ import annotations

import random

import pytest

from engine.config import EngineConfig
from engine.errors import RequestError
from engine.scheduling.scheduler import Scheduler
from engine.sequence import Sequence, SequenceStatus
from tests.engine.scheduling.sequences import names


def make(**limits: int) -> Scheduler:
    return Scheduler(EngineConfig(**{"num_blocks": 64, "block_size": 4, "max_model_len": 200, **limits}))


def seq(name: str, length: int, max_new_tokens: int = 20) -> Sequence:
    """A prompt that shares nothing with one of another name."""
    return Sequence(name, [f"{name}{i}".encode() for i in range(length)], max_new_tokens)


def step(scheduler: Scheduler) -> list[tuple[str, int, int]]:
    """One step of a model that always says b"new"."""
    batch = scheduler.schedule()
    rows = [(row.sequence.request_id, row.start, row.count) for row in batch]
    for row in batch:
        samples = row.samples
        scheduler.commit(row)
        if samples:
            row.sequence.token_ids.append(b"new")
    scheduler.block_manager.check_invariants([*scheduler.waiting, *scheduler.running])
    return rows


def test_decodes_come_first_and_prompts_share_the_rest_of_the_budget() -> None:
    scheduler = make(max_num_batched_tokens=100, max_prefill_tokens=10)
    scheduler.add(seq("a", 3))
    assert step(scheduler) == [("a", 0, 3)]
    scheduler.add(seq("b", 6))
    scheduler.add(seq("c", 7))
    scheduler.add(seq("d", 5))
    assert step(scheduler) == [("a", 3, 1), ("b", 0, 6), ("c", 0, 4)]
    assert step(scheduler) == [("a", 4, 1), ("b", 6, 1), ("c", 4, 3), ("d", 0, 5)]
    assert step(scheduler) == [("a", 5, 1), ("b", 7, 1), ("c", 7, 1), ("d", 5, 1)]


def test_prompts_take_the_whole_step_beside_answers_that_are_read_whole() -> None:
    scheduler = make(max_num_batched_tokens=64, max_prefill_tokens=8)
    whole, read = seq("whole", 4), seq("read", 4)
    whole.read_whole = True
    scheduler.add(whole)
    step(scheduler)
    scheduler.add(seq("long", 100))
    assert step(scheduler) == [("whole", 4, 1), ("long", 0, 63)]
    assert step(scheduler) == [("whole", 5, 1), ("long", 63, 37)]
    scheduler.remove(scheduler.get("long"))
    scheduler.add(read)
    step(scheduler)
    scheduler.add(seq("next", 20))
    assert step(scheduler) == [("whole", 7, 1), ("read", 4, 1), ("next", 0, 8)]


def test_prefill_beside_decodes_is_bounded_and_alone_it_is_not() -> None:
    scheduler = make(max_num_batched_tokens=64, max_prefill_tokens=8)
    scheduler.add(seq("long", 100))
    assert step(scheduler) == [("long", 0, 64)]
    assert step(scheduler) == [("long", 64, 36)]
    scheduler.add(seq("next", 20))
    assert [step(scheduler)[1:] for _ in range(3)] == [[("next", 0, 8)], [("next", 8, 8)], [("next", 16, 4)]]


def test_beside_many_decodes_more_prefill_is_a_small_share() -> None:
    scheduler = make(max_prefill_tokens=8, prefill_tokens_per_decode=4)
    for i in range(3):
        scheduler.add(seq(f"s{i}", 2))
    assert len(step(scheduler)) == 3
    scheduler.add(seq("next", 20))
    assert step(scheduler)[3:] == [("next", 0, 12)]


def resumed(name: str, prompt: int, generated: int) -> Sequence:
    """A sequence whose earlier attempt had generated some tokens after the prompt."""
    sequence = seq(name, prompt + generated)
    sequence.num_resumed_tokens = generated
    return sequence


def test_what_was_generated_before_is_computed_one_by_one_as_it_was_then() -> None:
    scheduler = make()
    scheduler.add(resumed("a", 5, 3))
    rows = [step(scheduler) for _ in range(5)]
    assert rows == [[("a", 0, 5)], [("a", 5, 1)], [("a", 6, 1)], [("a", 7, 1)], [("a", 8, 1)]]


def test_beside_a_running_stream_what_was_generated_before_is_computed_at_once() -> None:
    scheduler = make()
    scheduler.add(seq("a", 3))
    step(scheduler)
    scheduler.add(resumed("b", 5, 3))
    assert step(scheduler) == [("a", 3, 1), ("b", 0, 8)]


def test_of_several_that_come_together_none_is_computed_one_by_one() -> None:
    scheduler = make()
    scheduler.add(resumed("a", 5, 3))
    scheduler.add(resumed("b", 4, 2))
    assert step(scheduler) == [("a", 0, 8), ("b", 0, 6)]


def test_a_running_stream_gets_a_token_in_every_step_while_prompts_arrive() -> None:
    scheduler = make(max_num_batched_tokens=16, max_prefill_tokens=8, max_num_seqs=12, num_blocks=200)
    scheduler.add(seq("stream", 2, max_new_tokens=100))
    step(scheduler)
    for number in range(10):
        scheduler.add(seq(f"prompt {number}", 30))
        for _ in range(3):
            rows = step(scheduler)
            assert rows[0][0] == "stream" and rows[0][2] == 1
            assert sum(count for _, _, count in rows) <= 16


def test_every_running_sequence_is_served_in_every_step() -> None:
    scheduler = make(max_num_seqs=8, max_num_batched_tokens=8)
    for number in range(8):
        scheduler.add(seq(str(number), 1))
    step(scheduler)
    for _ in range(5):
        assert [name for name, _, _ in step(scheduler)] == [str(number) for number in range(8)]


def test_admission_counts_running_sequences() -> None:
    scheduler = make(max_num_seqs=2)
    for name in "abc":
        scheduler.add(seq(name, 2))
    step(scheduler)
    step(scheduler)
    assert names(scheduler.running) == ["a", "b"] and names(scheduler.waiting) == ["c"]
    scheduler.remove(scheduler.running[0])
    step(scheduler)
    assert names(scheduler.running) == ["b", "c"]


def test_nobody_overtakes_the_head_of_the_queue() -> None:
    scheduler = make(num_blocks=8)
    scheduler.add(seq("running", 16, max_new_tokens=4))
    step(scheduler)
    scheduler.add(seq("big", 24, max_new_tokens=1))
    scheduler.add(seq("small", 1))
    step(scheduler)
    assert names(scheduler.waiting) == ["big", "small"]


def test_the_youngest_gives_way_and_returns_to_the_front_of_the_queue() -> None:
    scheduler = make(num_blocks=4, enable_prefix_caching=False)
    scheduler.add(seq("old", 4, max_new_tokens=10))
    scheduler.add(seq("young", 4, max_new_tokens=10))
    step(scheduler)
    scheduler.add(seq("new", 2, max_new_tokens=2))
    while scheduler.num_preemptions == 0:
        step(scheduler)
    assert names(scheduler.running) == ["old"]
    assert names(scheduler.waiting) == ["young", "new"]
    young = scheduler.waiting[0]
    assert young.status is SequenceStatus.WAITING
    assert young.block_table == [] and young.num_computed_tokens == 0
    assert young.num_new_tokens > 0
    scheduler.remove(scheduler.running[0])
    assert step(scheduler)[0] == ("young", 0, len(young) - 1)


def test_several_preempted_sequences_keep_their_order() -> None:
    scheduler = make(num_blocks=6, enable_prefix_caching=False)
    for name in "abc":
        scheduler.add(seq(name, 8 if name == "a" else 5, max_new_tokens=16 if name == "a" else 3))
    seen: list[list[str]] = []
    for _ in range(12):
        step(scheduler)
        seen.append(names(scheduler.waiting))
        for sequence in scheduler.running:
            if sequence.num_new_tokens >= sequence.max_new_tokens:
                scheduler.remove(sequence)
    assert all(waiting == sorted(waiting) for waiting in seen)
    assert not any("a" in waiting for waiting in seen)


def test_a_newcomer_leaves_room_for_those_who_run() -> None:
    """Without the reserve it would be admitted into the last block and preempted one step later."""
    scheduler = make(num_blocks=4)
    scheduler.add(seq("a", 8, max_new_tokens=8))
    step(scheduler)
    step(scheduler)
    scheduler.add(seq("b", 4, max_new_tokens=2))
    step(scheduler)
    assert names(scheduler.running) == ["a"] and scheduler.num_preemptions == 0


def test_a_cached_prefix_is_not_computed_again_under_a_chunk_limit() -> None:
    scheduler = make(max_num_batched_tokens=16, max_prefill_tokens=3)
    prompt = [f"p{i}".encode() for i in range(15)]
    scheduler.add(Sequence("first", prompt, 5))
    step(scheduler)
    scheduler.add(Sequence("second", prompt, 5))
    assert step(scheduler) == [("first", 15, 1), ("second", 12, 3)]
    assert scheduler.running[1].num_cached_tokens == 12


@pytest.mark.parametrize(
    ("sequence", "param", "message"),
    [
        (seq("s", 0), "prompt", "empty"),
        (seq("s", 3, max_new_tokens=0), "max_new_tokens", "at least 1"),
        (seq("s", 3, max_new_tokens=-1), "max_new_tokens", "at least 1"),
        (seq("s", 21, max_new_tokens=1), "max_new_tokens", "max_model_len is 20"),
        (seq("s", 1, max_new_tokens=21), "max_new_tokens", "max_model_len is 20"),
        (seq("s", 10, max_new_tokens=8), "max_new_tokens", "the KV cache holds 16"),
        (Sequence("s", [1.5], 1), "prompt", "int or bytes"),  # type: ignore[list-item]
    ],
)
def test_what_can_never_run_is_refused_naming_the_limit(sequence: Sequence, param: str, message: str) -> None:
    scheduler = make(num_blocks=4, max_model_len=20)
    with pytest.raises(RequestError, match=message) as refusal:
        scheduler.add(sequence)
    assert refusal.value.param == param
    assert len(scheduler) == 0


def test_what_just_fits_runs_alone_to_its_end() -> None:
    scheduler = make(num_blocks=4, max_model_len=20)
    scheduler.add(seq("s", 10, max_new_tokens=7))
    for _ in range(7):
        assert step(scheduler)
    assert scheduler.running[0].num_new_tokens == 7


def test_one_name_is_served_once_at_a_time() -> None:
    scheduler = make()
    first = seq("same", 3)
    scheduler.add(first)
    for _ in range(2):
        with pytest.raises(RequestError, match="already being served") as refusal:
            scheduler.add(seq("same", 3))
        assert refusal.value.param == "request_id"
        step(scheduler)
    scheduler.remove(first)
    scheduler.add(seq("same", 3))


def test_limits_that_would_starve_a_stream_are_refused() -> None:
    with pytest.raises(ValueError, match="could not serve every running sequence"):
        make(max_num_seqs=9, max_num_batched_tokens=8)
    with pytest.raises(ValueError, match="block_size must be at least 1"):
        make(block_size=0)


@pytest.mark.parametrize("look_ahead", [False, True])
def test_a_step_is_empty_only_when_nothing_waits_or_runs(look_ahead: bool) -> None:
    """The most urgent decode may be the youngest, and have to give up its blocks: the next one goes on."""
    for seed in range(400):
        draw, now = random.Random(seed), [0.0]
        block_size, num_blocks = draw.choice([1, 2, 4]), draw.randint(3, 14)
        room = num_blocks * block_size
        config = EngineConfig(
            num_blocks=num_blocks, block_size=block_size, max_model_len=room, max_num_seqs=draw.randint(1, 5),
            max_num_batched_tokens=draw.randint(5, 16), max_prefill_tokens=draw.randint(1, 8),
            max_decodes=draw.choice([1, 2]), look_ahead=look_ahead,
        )  # fmt: skip
        scheduler = Scheduler(config, lambda now=now: now[0])
        for step in range(60):
            now[0] += draw.choice([0.01, 0.1, 0.5])
            prompt = draw.randint(1, max(1, room // 2))
            if step % 3 == 0 and step < 24:
                count, plays = draw.randint(1, room - prompt), draw.choice([0.0, 0.1, 1.0])
                tokens = [draw.randint(0, 3) for _ in range(prompt)]
                scheduler.add(Sequence(str(step), tokens, count, token_seconds=plays))
            batch = scheduler.schedule()
            assert bool(batch) == bool(len(scheduler)), (seed, step)
            assert all(row.sequence.status is SequenceStatus.RUNNING for row in batch)
            for row in batch:
                scheduler.commit(row)
                if row.samples:
                    scheduler.append(row.sequence, draw.randint(0, 3))
                    if row.sequence.num_new_tokens == row.sequence.max_new_tokens:
                        scheduler.remove(row.sequence)
            scheduler.block_manager.check_invariants([*scheduler.waiting, *scheduler.running])
