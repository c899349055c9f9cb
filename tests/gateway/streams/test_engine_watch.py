"""What the relay makes of an engine's pace, pauses and heartbeats: which one works, which one has lost its
request.
"""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock

import pytest

from gateway.settings import load_settings
from gateway.slots.capacity import trust
from gateway.slots.capacity.worker import Worker
from gateway.streams import relay
from gateway.workers.frame_stream import FrameStream, StreamBroken
from gateway.workers.metronome import Metronome
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker, frames_of
from tests.gateway.streams.stage import CLIP, IMPATIENT, SEED, TEXT, Ear, gateway_of, prefer_the_first, speak
from worker.protocol import Paused, StartRequest


async def test_a_request_that_an_engine_has_lost_is_finished_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its worker is alive, and its engine is at work for others."""
    monkeypatch.setattr(relay, "_STALLS_WITHOUT_CONTENT", 1)
    forgetful, sound = ScriptedWorker([Act(1, "lost")]), ScriptedWorker([Act()])
    async with gateway_of(forgetful, sound, **IMPATIENT) as gateway:
        prefer_the_first(gateway)
        outcome = await speak(gateway, ear := Ear())
    assert ear.pcm == CLIP
    assert outcome.migrations == 1


async def test_only_a_pause_that_is_wanted_excuses_an_engine() -> None:
    """A worker that says it rests, and goes on resting, would keep a slot for ever."""
    said, worker = [], SimpleNamespace(listener=None, send=AsyncMock())
    request = StartRequest(request_id="r", text=TEXT, seed=SEED)
    stream = FrameStream(worker, request, load_settings(), Metronome())
    stream.on_pause = said.append
    await stream.pause(True)
    assert not stream.resting
    rests = Paused(request_id="r", attempt=request.attempt).model_dump_json()
    assert stream._read(rests) is None
    assert stream.resting and said == [True]
    with pytest.raises(StreamBroken, match="nobody asked for"):
        stream._read(rests)
    await stream.pause(False)
    assert not stream.resting


@pytest.mark.parametrize(("late", "is_late"), [(0.0, True), (1e9, False)])
async def test_a_worker_is_known_by_the_pace_of_its_audio(
    monkeypatch: pytest.MonkeyPatch, late: float, is_late: bool
) -> None:
    monkeypatch.setattr(trust, "_LATE", late)
    monkeypatch.setattr(trust, "_TELLING_SECONDS", 0.5)
    async with gateway_of(ScriptedWorker([Act()])) as gateway:
        await speak(gateway, Ear())
        (worker,) = gateway.pool.workers.values()
        assert worker.trust.late is is_late


@pytest.mark.parametrize("resting", [True, False])
def test_a_worker_that_was_asked_to_rest_is_not_slow(monkeypatch: pytest.MonkeyPatch, resting: bool) -> None:
    monkeypatch.setattr(trust, "_LATE", 0.0)
    frames = frames_of(StartRequest(request_id="r", text="A sentence of some length. " * 4, seed=SEED))
    piece = Mock(committed=0)
    stream, worker = SimpleNamespace(resting=False, sample_rate=24000), Worker("w0", "http://w0")
    ticket = SimpleNamespace(ended_by=None)
    lease = SimpleNamespace(worker=worker, ticket=ticket)
    attempt = relay._Attempt(piece, lease, stream, load_settings(), lambda: False)
    for frame in frames:
        piece.committed = frame.sequence
        stream.resting = resting and frame.sequence == 3
        attempt.take(frame)
    attempt.end()
    assert worker.trust.late is not resting


@pytest.mark.parametrize(
    ("beats_per_second", "lasts"), [(4, True), (50, True), (999, False)], ids=["usual", "many", "too many"]
)
def test_heartbeats_that_come_too_fast_end_the_stream(
    beats_per_second: int, lasts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """999 in each second were once allowed, and took a hundredth of a CPU for each stream."""
    now = 0.0
    monkeypatch.setattr(relay, "time", SimpleNamespace(monotonic=lambda: now))
    watch = relay._EngineWatch(60.0)

    def hear() -> None:
        nonlocal now
        for step in range(20 * beats_per_second):
            now += 1 / beats_per_second
            watch.see(step, brings=False, resting=False)

    if lasts:
        hear()
    else:
        with pytest.raises(StreamBroken, match="heartbeats"):
            hear()


def test_heartbeats_of_minutes_may_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway, or its machine, stood still meanwhile."""
    monkeypatch.setattr(relay, "time", SimpleNamespace(monotonic=lambda: 120.0))
    watch = relay._EngineWatch(60.0)
    for step in range(4 * 120):
        watch.see(step, brings=False, resting=False)
