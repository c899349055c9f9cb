"""The states of a live session, without sockets, workers or real time."""

from __future__ import annotations

import pytest

from gateway.errors import ApiError
from gateway.live.session.states import State
from tests.gateway.live.stage import RATE, Stage


def test_a_session_queues_and_keeps_what_is_said_meanwhile(stage: Stage) -> None:
    stage.session.queued("t", 2, 3.14159)
    stage.session.append("First one. Second")
    stage.session.queued("t", 1, None)
    assert stage.session.state is State.QUEUED
    stage.lease()
    assert stage.session.state is State.ACTIVE and stage.session.may_speak
    assert stage.begin() == "First one. "
    assert stage.kinds() == ["queued", "queue_update", "started", "utterance"]
    assert stage.messages[0]["eta_seconds"] == 3.142


def test_text_that_stops_is_spoken_after_a_while_and_sooner_where_it_may_be_the_end(stage: Stage) -> None:
    stage.lease()
    stage.session.append("This is only half a")
    stage.clock.advance(3.9)
    assert not stage.session.may_speak
    stage.session.append(" sentence")
    stage.clock.advance(3.9)
    assert not stage.session.may_speak
    stage.clock.advance(0.2)
    assert stage.begin() == "This is only half a sentence"
    stage.finish()
    stage.session.append(" and its end.")
    stage.clock.advance(0.5)
    assert stage.begin() == " and its end."


def test_flush_speaks_what_is_incomplete(stage: Stage) -> None:
    stage.lease()
    stage.session.append("No full stop")
    stage.session.flush()
    assert stage.begin() == "No full stop"


def test_too_much_text_is_refused_with_the_limit_and_the_session_goes_on(stage: Stage) -> None:
    stage.lease()
    stage.session.append("x" * 60)
    with pytest.raises(ApiError, match="at most 100") as caught:
        stage.session.append("y" * 41)
    assert (caught.value.code, caught.value.param) == ("too_much_text", "text")
    stage.session.append("y" * 40)
    stage.session.flush()
    assert stage.begin() == "x" * 60 + "y" * 40
    stage.session.append("z" * 100)


def test_a_barge_in_begins_an_epoch_and_answers_once(stage: Stage) -> None:
    stage.lease()
    stage.session.append("One two three. Four five six. Sev")
    stage.begin()
    stage.speak()
    stage.finish()
    stage.begin()
    stage.speak()
    stage.unsent_samples = RATE // 2
    stage.session.cancel(RATE)
    assert stage.session.state is State.CANCELLING and not stage.session.may_speak
    assert stage.kinds().count("cancelled") == 1
    answer = stage.last("cancelled")
    assert (answer["epoch"], answer["spoken_text"], answer["spoken_characters"]) == (1, "One two three. ", 15)
    assert (answer["next_sample"], answer["unspoken_characters"]) == (RATE + RATE // 2, 3)
    stage.session.append("New epoch. Here")
    assert not stage.session.may_speak
    stage.settle()
    assert stage.session.state is State.ACTIVE
    assert stage.begin() == "New epoch. "
    assert stage.last("utterance") | {"epoch": 1, "start": 33, "first_sample": 36000} == stage.last(
        "utterance"
    )


def test_a_slot_that_was_given_back_for_lack_of_text_is_wanted_again_with_the_next(stage: Stage) -> None:
    stage.lease()
    stage.session.lost_slot(for_good=False)
    stage.session.gave_back("idle")
    stage.session.lost_slot(for_good=True)
    assert stage.session.state is State.RELEASED and not stage.session.wants_slot
    stage.session.append("Half")
    assert not stage.session.wants_slot
    stage.session.append(" a sentence. The")
    assert stage.session.wants_slot and stage.session.state is State.QUEUED


def test_signs_and_white_space_alone_want_no_slot_and_count_as_text(stage: Stage) -> None:
    session = stage.session
    stage.lease()
    session.append("Whole. ")
    session.flush()
    stage.begin()
    stage.finish()
    session.gave_back("idle")
    session.lost_slot(for_good=True)
    session.append(" \n…")
    session.flush()
    assert session.state is State.RELEASED and not session.wants_slot
    session.append("More. And")
    assert session.wants_slot
    stage.lease()
    stage.begin()
    assert stage.last("utterance")["start"] == len("Whole.  \n…")
    stage.finish()
    session.cancel(0)
    session.append("\n")
    session.stop()
    assert session.finished


def test_another_worker_goes_on_without_a_word(stage: Stage) -> None:
    stage.session.queued("t", 1, None)
    stage.lease()
    stage.session.append("One. Two")
    stage.begin()
    stage.settle()
    stage.session.lost_slot(for_good=False)
    stage.session.queued("t", 1, None)
    stage.session.got_slot("w1", RATE)
    assert stage.kinds() == ["queued", "started", "utterance"]


def test_an_idle_session_is_warned_then_ended(stage: Stage) -> None:
    stage.lease()
    stage.clock.advance(59)
    assert "idle" not in stage.kinds()
    stage.clock.advance(2)
    assert stage.last("idle")["closes_in_seconds"] == 15 and stage.failure is None
    stage.clock.advance(15)
    assert stage.failure.code == "session_idle"


def test_speech_text_and_pauses_are_not_idle(stage: Stage) -> None:
    stage.lease()
    stage.session.append("Some words. And")
    stage.begin()
    stage.speak(100 * RATE)
    stage.finish()
    stage.session.cancel(10**9)
    stage.session.append("Some words. And")
    stage.begin()
    stage.speak(100 * RATE)
    stage.finish()
    stage.session.flush()
    stage.begin()
    stage.finish()
    stage.clock.advance(155)  # 100 s of it are played
    assert "idle" not in stage.kinds()
    stage.clock.advance(10)
    assert stage.kinds().count("idle") == 1
    stage.session.append("x")
    stage.clock.advance(50)
    assert stage.failure is None
    stage.session.pause()
    stage.clock.advance(500)
    assert stage.failure is None and stage.kinds().count("idle") == 1


def test_a_session_that_waits_for_its_slot_is_not_idle(stage: Stage) -> None:
    stage.clock.advance(500)
    assert "idle" not in stage.kinds() and stage.failure is None


def test_a_session_has_a_longest_life(stage: Stage) -> None:
    stage.session.pause()
    stage.clock.advance(1001)
    assert stage.failure.code == "session_timeout"


def test_after_its_end_no_timer_rings_and_nothing_is_told(stage: Stage) -> None:
    stage.lease()
    stage.session.append("Half")
    stage.session.close()
    stage.clock.advance(2000)
    assert stage.failure is None and stage.kinds() == ["started"]
    assert stage.session.state is State.ENDED


def test_stop_speaks_what_is_there_even_paused_and_then_ends(stage: Stage) -> None:
    stage.lease()
    stage.session.append("Whole. Half")
    stage.session.pause()
    stage.session.stop()
    assert not stage.session.finished and not stage.session.paused
    with pytest.raises(ApiError, match="after stop"):
        stage.session.append("more")
    for text in ("Whole. ", "Half"):
        assert stage.begin() == text
        stage.finish()
    assert stage.session.finished and not stage.session.wants_slot


def test_a_gateway_that_ends_lets_speech_finish_and_ends_the_others(stage: Stage) -> None:
    reason = ApiError(503, "shutting_down", "the gateway is shutting down")
    stage.lease()
    stage.session.append("Some words. And")
    stage.session.shut_down(reason)
    assert stage.failure is None and stage.session.farewell is reason and stage.session.stopping
    silent, paused = Stage(), Stage()
    paused.lease()
    paused.session.append("Some words. And")
    paused.session.pause()
    for other in (silent, paused):
        other.session.shut_down(reason)
        assert other.failure is reason


def test_the_wait_for_an_utterance_is_measured_where_nothing_is_said_before_it(stage: Stage) -> None:
    waits: list[float] = []
    stage.session.first_audio.heard = waits.append
    stage.session.append("This is the first sentence. Here is the second one. And")
    stage.clock.advance(0.75)
    stage.lease()
    for _ in range(2):
        stage.begin()
        stage.speak()
        stage.speak()
        stage.clock.advance(1)
        stage.finish()
    assert waits == [0.75]  # the second was made while the first could be heard
    stage.session.flush()
    stage.clock.advance(0.25)
    stage.begin()
    stage.speak()
    assert waits == [0.75, 0.25]


def test_what_is_paused_or_cut_off_is_not_waited_for(stage: Stage) -> None:
    waits: list[float] = []
    stage.session.first_audio.heard = waits.append
    stage.lease()
    stage.session.append("One sentence. ")
    stage.session.flush()
    stage.session.pause()
    stage.clock.advance(10)
    stage.session.resume()
    stage.begin()
    stage.speak()
    stage.finish()
    stage.session.append("Another one. ")
    stage.session.flush()
    stage.begin()
    stage.session.cancel(0)
    stage.settle()
    assert waits == []
    stage.session.append("The last one. ")
    stage.session.flush()
    stage.begin()
    stage.speak()
    assert waits == [0.0]
