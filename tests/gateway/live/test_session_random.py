"""Live sessions under random clients, workers and clocks: whatever happens, the client can follow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.live.stage import Stage


class Play:
    """One random session, and what its client must find at the end. Each method is something that happens."""

    def __init__(self) -> None:
        limits = {"live_text_characters": 100_000, "live_pause_seconds": 5, "live_session_seconds": 10**6}
        self.stage = Stage(**limits)
        self.session = self.stage.session
        self.appended = ""
        self.sent = 0
        """Samples."""
        self.answers = {"cancelled": 0, "paused": 0, "resumed": 0}
        self.holding = False

    def append(self, text: str = "Word by word. ") -> None:
        self.session.append(text)
        self.appended += text

    def token(self) -> None:
        self.append("word ")

    def flush(self) -> None:
        self.session.flush()

    def cancel(self) -> None:
        self.answers["cancelled"] += 1
        self.session.cancel(self.sent)
        self.stage.settle()

    def pause(self) -> None:
        self.answers["paused"] += not self.session.paused
        self.session.pause()

    def resume(self) -> None:
        self.answers["resumed"] += self.session.paused
        self.session.resume()

    def lease(self) -> None:
        if self.session.wants_slot and not self.holding:
            self.stage.lease()
            self.holding = True

    def begin(self) -> None:
        if not self.holding or not self.session.may_speak or self.stage.speaking:
            return
        timeline = self.session.timeline
        goes_on = timeline.current is not None
        utterance = timeline.begin()
        if not goes_on:
            self.session.began(utterance)
        self.stage.speaking = True
        assert self.appended[utterance.start : utterance.end] == utterance.text
        assert utterance.first_sample + utterance.samples == self.sent

    def speak(self) -> None:
        if self.stage.speaking:
            self.stage.speak(100)
            self.sent += 100

    def finish(self) -> None:
        if self.stage.speaking:
            self.stage.finish()

    def confirm(self) -> None:
        if self.stage.asked and self.stage.speaking:
            self.session.confirmed(self.stage.asked.pop(0))

    def wait(self) -> None:
        released = self.stage.releases
        self.stage.clock.advance(1.5)
        self.holding = self.holding and self.stage.releases == released

    def rest(self) -> None:
        if self.holding and not self.stage.speaking:
            self.session.gave_back("idle")
            self.session.lost_slot(for_good=True)
            self.holding = False


HAPPENINGS = st.sampled_from([name for name in vars(Play) if not name.startswith("_")])


@given(happenings=st.lists(HAPPENINGS, max_size=80))
def test_whatever_happens_the_client_can_follow(happenings: list[str]) -> None:
    """Offsets and samples go on without gaps, each command is answered once, epochs only grow."""
    play = Play()
    for name in happenings:
        getattr(play, name)()
    play.stage.settle()
    for kind, count in play.answers.items():
        assert play.stage.kinds().count(kind) == count
    begun = [message["index"] for message in play.stage.messages if message["type"] == "utterance"]
    assert begun == list(range(len(begun)))
    epochs = [message["epoch"] for message in play.stage.messages if "epoch" in message]
    assert epochs == sorted(epochs)
    finished = [message for message in play.stage.messages if message["type"] == "utterance_done"]
    assert [message["index"] for message in finished] == sorted({message["index"] for message in finished})
