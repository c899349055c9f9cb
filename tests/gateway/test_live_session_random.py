"""Live sessions under random clients, workers and clocks: whatever happens, the client can follow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.live_stage import Stage

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
