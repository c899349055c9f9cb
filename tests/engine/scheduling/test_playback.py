"""Leads, the order of decodes when a step cannot hold them all, and the pace of steps."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from engine.config import EngineConfig
from engine.scheduling.playback import (
    UNPACED_LEAD_SECONDS,
    lead_seconds,
    most_urgent,
    record_arrival,
    record_token,
)
from engine.scheduling.scheduler import Scheduler
from engine.scheduling.step_time import StepTimeModel
from engine.sequence import Sequence
from tests.engine.scheduling.sequences import names


def stream(name: str, token_seconds: float = 0.16) -> Sequence:
    return Sequence(name, [1, 2], 1000, token_seconds=token_seconds)


def test_a_lead_is_audio_sent_less_time_since_the_first_of_it() -> None:
    sequence = stream("s")
    record_arrival(sequence, 100.0)
    assert lead_seconds(sequence, 100.5) == pytest.approx(-0.5)
    for count in range(10):
        sequence.token_ids.append(b"patch")
        record_token(sequence, 101.0 + count * 0.01)
    assert lead_seconds(sequence, 102.2) == pytest.approx(10 * 0.16 - 1.2)
    assert lead_seconds(sequence, 103.0) == pytest.approx(-0.4)


def test_tokens_that_came_with_the_prompt_have_been_heard() -> None:
    """A stream that goes on from another engine has no lead here but what it makes here."""
    sequence = Sequence("resumed", [1, 2] + [b"patch"] * 50, 100, token_seconds=0.16)
    record_arrival(sequence, 0.0)
    sequence.token_ids.append(b"patch")
    record_token(sequence, 0.1)
    assert lead_seconds(sequence, 0.1) == pytest.approx(0.16)


def test_what_nobody_listens_to_falls_behind_while_it_waits() -> None:
    sequence = stream("offline", token_seconds=0.0)
    record_arrival(sequence, 5.0)
    assert lead_seconds(sequence, 5.0) == UNPACED_LEAD_SECONDS
    assert lead_seconds(sequence, 8.0) == UNPACED_LEAD_SECONDS - 3
    record_token(sequence, 8.0)
    assert lead_seconds(sequence, 8.0) == UNPACED_LEAD_SECONDS


def test_the_most_urgent_keep_their_order() -> None:
    sequences = [stream(name) for name in "abcd"]
    for sequence, tokens in zip(sequences, (9, 2, 5, 1), strict=True):
        record_arrival(sequence, 0.0)
        record_token(sequence, 0.0)
        sequence.token_ids += [b"patch"] * tokens
    assert names(most_urgent(sequences, 3, 1.0)) == ["b", "c", "d"]
    assert names(most_urgent(sequences, 1, 1.0)) == ["d"]


def decode_steps(scheduler: Scheduler, steps: int, clock: list[float]) -> list[list[str]]:
    served = []
    for _ in range(steps):
        batch = scheduler.schedule()
        clock[0] += 0.05
        for row in batch:
            samples = row.samples
            scheduler.commit(row)
            if samples:
                scheduler.append(row.sequence, b"patch")
        served.append([row.sequence.request_id for row in batch])
    return served


def make(clock: list[float], **limits: object) -> Scheduler:
    sizes = {"num_blocks": 500, "block_size": 4, "max_model_len": 2000, "max_num_seqs": 16}
    return Scheduler(EngineConfig(**{**sizes, **limits}), clock=lambda: clock[0])


def test_no_sequence_waits_longer_than_a_fair_turn_even_when_all_are_late() -> None:
    """10 sequences at 2 tokens per 50 ms; those that are listened to fall behind without end."""
    clock = [0.0]
    scheduler = make(clock, max_decodes=2, num_blocks=3000)
    for number in range(10):
        scheduler.add(stream(str(number), token_seconds=0.3 if number % 3 else 0.0))
    served = decode_steps(scheduler, 3000, clock)
    assert all(len(batch) == 2 for batch in served[1:])
    for number in range(10):
        turns = [step for step, batch in enumerate(served) if str(number) in batch]
        gaps = [later - earlier for earlier, later in pairwise(turns)]
        assert max(gaps) <= 2.0 / 0.05 + 10 / 2
    counts = [sum(str(number) in batch for batch in served) for number in range(10)]
    paced = [count for number, count in enumerate(counts) if number % 3]
    assert max(paced) - min(paced) <= 2


def test_within_the_budget_order_and_membership_are_those_without_one() -> None:
    rng = random.Random(0)
    schedulers = [make([0.0], **limits) for limits in ({}, {"max_decodes": 8, "max_step_seconds": 10.0})]
    for number in range(8):
        for scheduler in schedulers:
            scheduler.add(Sequence(str(number), [1] * (number + 1), 1000, token_seconds=0.16 * (number % 2)))
    for _ in range(50):
        clock = [rng.random()]
        served = [decode_steps(scheduler, 1, clock) for scheduler in schedulers]
        assert served[0] == served[1]


def test_the_pace_of_steps_is_learned_and_followed() -> None:
    model = StepTimeModel()
    assert model.rows_within(1.0) is None
    model.observe(32, 0.020)
    assert model.rows_within(0.040) == 64
    model.observe(96, 0.036)
    assert model.rows_within(0.0281) == 64
    assert model.rows_within(0.001) == 1
    for rows in [32, 96] * 100:
        model.observe(rows, 0.004 + 0.001 * rows)
    base, slope = model.line()
    assert base == pytest.approx(0.004, rel=0.01) and slope == pytest.approx(0.001, rel=0.01)


def test_a_limit_by_time_converges_even_when_all_steps_have_one_size() -> None:
    model, rows = StepTimeModel(), 20
    for _ in range(500):
        model.observe(rows, 0.010 + 0.0005 * rows)
        rows = model.rows_within(0.040)
    assert 57 <= rows <= 60


def test_noise_gives_no_falling_line() -> None:
    model = StepTimeModel()
    for rows, seconds in ((10, 0.03), (20, 0.02), (30, 0.01)):
        model.observe(rows, seconds)
    base, slope = model.line()
    assert base == 0.0 and slope > 0


@pytest.mark.parametrize("limits", [{"max_decodes": 0}, {"max_step_seconds": 0.0}])
def test_limits_of_decodes_are_checked(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(limits))):
        make([0.0], **limits)
