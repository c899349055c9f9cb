"""Pauses of a live session: told once the worker rests, and how long they may be."""

from __future__ import annotations

from gateway.live.session.states import State
from tests.gateway.live.stage import RATE, Stage


def test_a_pause_is_told_when_the_worker_confirms_it(stage: Stage) -> None:
    stage.lease()
    stage.session.append("A sentence that is spoken. And")
    stage.begin()
    stage.session.pause()
    assert stage.asked == [True] and "paused" not in stage.kinds()
    assert stage.session.state is State.PAUSED
    stage.speak()
    stage.session.confirmed(True)
    assert stage.last("paused")["limit_seconds"] == 30
    stage.session.resume()
    assert stage.asked == [True, False] and "resumed" not in stage.kinds()
    stage.session.confirmed(False)
    assert stage.kinds()[-1] == "resumed" and stage.session.state is State.ACTIVE


def test_a_pause_with_nothing_to_pause_is_told_at_once_and_twice_is_once(stage: Stage) -> None:
    stage.lease()
    stage.session.pause()
    stage.session.pause()
    stage.session.append("Later. Not")
    assert stage.kinds() == ["started", "paused"] and not stage.session.may_speak
    stage.session.resume()
    stage.session.resume()
    assert stage.kinds() == ["started", "paused", "resumed"] and stage.session.may_speak


def test_an_utterance_that_ends_before_the_pause_confirms_it(stage: Stage) -> None:
    stage.lease()
    stage.session.append("Short. And")
    stage.begin()
    stage.session.pause()
    stage.finish()
    assert stage.kinds()[-2:] == ["utterance_done", "paused"]


def test_a_long_pause_gives_the_slot_back_and_a_resumption_queues_again(stage: Stage) -> None:
    stage.lease()
    stage.session.append("A long sentence, cut in its middle. And")
    stage.begin()
    stage.speak()
    stage.session.pause()
    stage.session.confirmed(True)
    stage.clock.advance(29)
    assert stage.releases == 0
    stage.clock.advance(2)
    assert stage.releases == 1
    assert stage.session.state is State.RELEASED and not stage.session.wants_slot
    assert stage.last("released")["reason"] == "pause"
    stage.clock.advance(900)
    assert stage.failure is None
    stage.session.resume()
    assert stage.session.state is State.QUEUED and stage.session.wants_slot
    stage.session.queued("t", 1, None)
    stage.lease()
    assert stage.kinds()[-3:] == ["resumed", "queued", "started"]
    assert stage.session.timeline.current.samples == RATE  # it goes on with what was begun


def test_who_waits_gets_the_slot_of_a_session_that_pauses(stage: Stage) -> None:
    """Sixty that paused in the middle of a sentence had all slots for a minute each."""
    stage.lease()
    stage.session.append("A long sentence, cut in its middle. And")
    stage.begin()
    stage.speak()
    stage.session.pause()
    stage.session.confirmed(True)
    stage.clock.advance(13)
    assert stage.releases == 0, "nobody waits"
    stage.awaited = True
    stage.clock.advance(6)
    assert stage.releases == 1 and stage.last("released")["reason"] == "pause"
    stage.session.resume()
    assert stage.session.wants_slot


def test_resuming_in_time_puts_the_limit_off(stage: Stage) -> None:
    stage.lease()
    stage.session.pause()
    stage.clock.advance(20)
    stage.session.resume()
    stage.session.pause()
    stage.clock.advance(20)
    assert stage.releases == 0
