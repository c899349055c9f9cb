"""How a client's socket ends."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.websockets import WebSocketDisconnect
from structlog.testing import capture_logs

from gateway.api.speech.stream import StreamSession
from gateway.api.transfer.client_socket import ClientSocket
from gateway.callers.identity import Caller
from gateway.operations.measurements.playback import PlaybackReports
from gateway.protocols.deepgram.request import SpeakQuery
from gateway.protocols.deepgram.socket import SpeakSocket
from gateway.slots.line.standing import Priority
from tests.gateway.stages.link import Link
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import TEXT, gateway_of


async def test_what_was_said_before_a_defect_is_sent_and_the_defect_is_logged() -> None:
    link = Link()
    link.reads.set()

    async with gateway_of(ScriptedWorker([])) as gateway:
        socket = ClientSocket(link, gateway)

        async def work() -> None:
            socket.put("said before")
            raise RuntimeError("a defect")

        with capture_logs() as logs:
            problem = await socket.outcome(work())
    assert (problem.status_code, problem.code) == (500, "internal_error")
    assert link.sent == ["said before"]
    assert [(entry["event"], entry["request_id"]) for entry in logs] == [("unhandled error", "r1")]


async def test_who_reads_too_slowly_is_waited_for_no_longer() -> None:
    async with gateway_of(ScriptedWorker([]), client_buffer_bytes=10) as gateway:
        socket = ClientSocket(Link(), gateway)

        async def work() -> None:
            async with socket.interruption:
                for _ in range(2):
                    socket.put("ten signs.")
                await asyncio.Event().wait()

        async with asyncio.timeout(5):
            problem = await socket.outcome(work())
        assert (problem.code, socket.outbox.waits) == ("slow_client", True)
        socket.outbox.drop()


async def test_who_has_left_is_told_nothing() -> None:
    link = Link()
    async with gateway_of(ScriptedWorker([])) as gateway:
        socket = ClientSocket(link, gateway)
        with pytest.raises(WebSocketDisconnect), capture_logs() as logs:
            await socket.outcome(socket.receive_text())
    assert logs == [] and link.sent == []


async def test_a_defect_in_what_reads_reports_ends_the_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended the reader alone: the client could not cancel its clip any more."""
    taken: list[object] = []

    def take(self: PlaybackReports, report: object, *about: object) -> None:
        taken.append(report)
        raise RuntimeError("a defect")

    monkeypatch.setattr(PlaybackReports, "take", take)
    link = Link({"text": TEXT}, {"type": "stats"})
    link.reads.set()
    async with gateway_of(ScriptedWorker([Act(0, "mute")])) as gateway:
        async with asyncio.timeout(5):
            await StreamSession(ClientSocket(link, gateway)).run()
    assert taken == [{"type": "stats"}]
    assert json.loads(link.sent[-1])["error"]["code"] == "internal_error"
    assert link.closed == (1011, "internal_error")


async def test_a_defect_in_what_reads_a_dialogue_is_told_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def follow(self: SpeakSocket, message: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(SpeakSocket, "_follow", follow)
    link = Link({"type": "Flush"})
    link.reads.set()
    async with gateway_of(ScriptedWorker([])) as gateway:
        socket = SpeakSocket(ClientSocket(link, gateway), SpeakQuery(), Caller("ann", Priority.DEFAULT))
        with capture_logs() as logs:
            async with asyncio.timeout(5):
                await socket.run()
    assert json.loads(link.sent[-1])["code"] == "INTERNAL_ERROR"
    assert link.closed == (1011, "internal_error")
    assert [entry["event"] for entry in logs].count("unhandled error") == 1
