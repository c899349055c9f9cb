"""The states of a live session, without sockets, workers or real time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ApiError
from gateway.live.session import LiveSession
from gateway.live.states import State
from gateway.settings import GatewaySettings
from tests.gateway.fleet import ManualClock

RATE = 24_000
LIMITS = {
    "live_session_seconds": 1000,
    "live_idle_seconds": 60,
    "live_pause_seconds": 30,
    "live_flush_seconds": 4,
    "live_text_characters": 100,
}


class Stage:
    """A session, its client's ear, and a voice that does nothing by itself."""

    def __init__(self, **limits: Any) -> None:
        self.clock = ManualClock()
        self.messages: list[dict[str, Any]] = []
        self.unsent_samples = 0
        self.speaking = False
        self.asked: list[bool] = []
        self.cuts = self.releases = 0
        self.failure: ApiError | None = None
        settings = GatewaySettings(**{**LIMITS, **limits})
        self.session = LiveSession(settings, self, self.clock.call_later, self.clock)
        self.session.voice = self
        self.session.open()

    # the client's end

    def tell(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    def audio(self, pcm: bytes) -> None:
        self.messages.append({"type": "audio", "samples": len(pcm) // 2})

    def drop_audio(self) -> int:
        dropped, self.unsent_samples = self.unsent_samples, 0
        return dropped

    # the voice

    def wake(self) -> None:
        """Tests drive the voice themselves."""

    def ask(self, paused: bool) -> bool:
        if self.speaking:
            self.asked.append(paused)
        return self.speaking

    def cut(self) -> bool:
        self.cuts += 1
        return self.speaking

    def let_go(self) -> None:
        self.releases += 1
        self.settle()
        self.session.lost_slot(for_good=True)

    def fail(self, error: ApiError) -> None:
        self.failure = error

    # what tests say

    def lease(self) -> None:
        self.session.got_slot("w0", RATE)

    def begin(self) -> str:
        utterance = self.session.timeline.begin()
        self.session.began(utterance)
        self.speaking = True
        return utterance.text

    def speak(self, samples: int = RATE) -> None:
        self.session.heard(bytes(2 * samples))

    def finish(self) -> None:
        self.session.spoke("stop")
        self.settle()

    def settle(self) -> None:
        self.speaking = False
        self.session.settled()

    def kinds(self) -> list[str]:
        return [message["type"] for message in self.messages]

    def last(self, kind: str) -> dict[str, Any]:
        return [message for message in self.messages if message["type"] == kind][-1]


@pytest.fixture
def stage() -> Stage:
    return Stage()


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


def test_resuming_in_time_puts_the_limit_off(stage: Stage) -> None:
    stage.lease()
    stage.session.pause()
    stage.clock.advance(20)
    stage.session.resume()
    stage.session.pause()
    stage.clock.advance(20)
    assert stage.releases == 0


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
    for rest in (Stage(), Stage()):
        rest.lease()
        if rest is not stage:
            rest.session.pause()
        rest.session.shut_down(reason)
        assert rest.failure is reason


ACTIONS = st.sampled_from(
    [
        "append",
        "token",
        "flush",
        "cancel",
        "pause",
        "resume",
        "lease",
        "begin",
        "speak",
        "finish",
        "wait",
        "let go",
    ]
)


@given(actions=st.lists(ACTIONS, max_size=60))
def test_whatever_happens_the_client_can_follow(actions: list[str]) -> None:
    """Offsets and samples go on without gaps, each command is answered once, epochs only grow."""
    stage = Stage(live_text_characters=100_000, live_pause_seconds=5, live_session_seconds=10**6)
    session = stage.session
    appended, sent, commands, holding = "", 0, {"cancelled": 0, "paused": 0, "resumed": 0}, False
    for action in actions:
        before = (session.paused, stage.speaking)
        if action in ("append", "token"):
            text = "Word by word. " if action == "append" else "word "
            session.append(text)
            appended += text
        elif action == "flush":
            session.flush()
        elif action == "cancel":
            commands["cancelled"] += 1
            session.cancel(sent)
            stage.settle()
        elif action == "pause":
            commands["paused"] += not before[0]
            session.pause()
        elif action == "resume":
            commands["resumed"] += before[0]
            session.resume()
        elif action == "lease" and session.wants_slot and not holding:
            stage.lease()
            holding = True
        elif action == "begin" and holding and session.may_speak and not stage.speaking:
            fresh = session.timeline.current is None
            utterance = session.timeline.begin()
            if utterance is not None:
                stage.speaking = True
                if fresh:
                    session.began(utterance)
                assert appended[utterance.start : utterance.end] == utterance.text
                assert utterance.first_sample + utterance.samples == sent
        elif action == "speak" and stage.speaking:
            stage.speak(100)
            sent += 100
        elif action == "finish" and stage.speaking:
            stage.finish()
        elif action == "wait":
            released = stage.releases
            stage.clock.advance(1.5)
            holding = holding and stage.releases == released
        elif action == "let go" and holding and not stage.speaking:
            session.gave_back("idle")
            session.lost_slot(for_good=True)
            holding = False
        if stage.asked and stage.speaking:
            session.confirmed(stage.asked.pop(0))
    stage.settle()
    for kind, count in commands.items():
        assert stage.kinds().count(kind) == count
    begun = [message["index"] for message in stage.messages if message["type"] == "utterance"]
    assert begun == list(range(len(begun)))
    epochs = [message["epoch"] for message in stage.messages if "epoch" in message]
    assert epochs == sorted(epochs)
