"""What counts as asked for and late: clips and answers by one measure, each by its own promise."""

from __future__ import annotations

import contextlib

import pytest

from gateway.slots.demand import ModelDemand
from gateway.slots.line.charge import SECONDS_PER_TOKEN, charge
from gateway.slots.line.standing import Priority, Standing
from gateway.slots.requirement import Requirement
from tests.gateway.stages.fleet import Fleet, status
from worker.protocol import TextModelDescription

TEXT = TextModelDescription(kind="text", name="tiny", revision="1", vocab_size=300, max_model_len=512)
ANSWER = Requirement("tiny", kind="text")
ANY_ANSWER = Requirement(kind="text")


@pytest.fixture
def fleet() -> Fleet:
    fleet = Fleet(2, 0)
    fleet.pool.reports.answered(fleet.workers[1], status(slots=2, model=TEXT))
    return fleet


def written(fleet: Fleet, tokens: int, requirement: Requirement = ANSWER) -> ModelDemand:
    """One answer is asked for and comes to its end."""
    with fleet.pool.admit("r", requirement, standing=Standing(audio_seconds=50.0)):
        fleet.pool.demand.answered(requirement, charge(0, tokens))
    return fleet.pool.demand.of("tiny")


async def test_answers_are_expected_to_be_as_long_as_the_last_ones(fleet: Fleet) -> None:
    assert written(fleet, 100).audio_seconds_asked == 50.0
    for _ in range(60):
        before = fleet.pool.demand.of("tiny").audio_seconds_asked
        now = written(fleet, 30).audio_seconds_asked
    assert now - before == pytest.approx(30 * SECONDS_PER_TOKEN, rel=0.02)
    with fleet.pool.admit("r", Requirement("alpha"), standing=Standing(audio_seconds=9.0)):
        assert fleet.pool.demand.of("alpha").audio_seconds_asked == 9.0


async def test_text_without_a_model_counts_for_the_one_there_is(fleet: Fleet) -> None:
    assert written(fleet, 5, ANY_ANSWER).requests == 1
    assert fleet.pool.demand.of("").requests == 0


@pytest.mark.parametrize(
    ("requirement", "mode", "waited", "late"),
    [
        (Requirement("alpha"), "clip", 1.5, 1),
        (ANSWER, "answer", 1.5, 0),
        (ANSWER, "answer", 2.5, 1),
    ],
)
async def test_a_first_token_is_late_by_its_own_objective(
    fleet: Fleet,
    open_tickets: contextlib.ExitStack,
    requirement: Requirement,
    mode: str,
    waited: float,
    late: int,
) -> None:
    ticket = open_tickets.enter_context(fleet.pool.admit("r", requirement))
    ticket.mode = mode
    fleet.clock.advance(waited)
    fleet.pool.demand.heard(ticket, fleet.clock())
    demand = fleet.pool.demand.of(requirement.model)
    assert (demand.first_audios, demand.late) == (1, late)


async def test_nobody_waits_for_the_first_token_of_bulk(
    fleet: Fleet, open_tickets: contextlib.ExitStack
) -> None:
    bulk = Standing(priority=Priority.BULK)
    ticket = open_tickets.enter_context(fleet.pool.admit("r", ANSWER, standing=bulk))
    ticket.mode = "answer"
    fleet.pool.demand.heard(ticket, fleet.clock())
    assert fleet.pool.demand.of("tiny").first_audios == 0
