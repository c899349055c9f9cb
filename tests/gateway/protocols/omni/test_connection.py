"""One socket as vLLM-Omni has it, without a network."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from gateway.api.transfer.client_socket import ClientSocket
from gateway.callers.identity import Caller
from gateway.live.messages import Start
from gateway.protocols.omni.messages import Config
from gateway.protocols.omni.socket import Connection
from gateway.protocols.omni.speaker import Speaker
from gateway.service import Gateway
from gateway.slots.line.standing import Priority
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import gateway_of


class Link:
    """An ASGI socket whose client says this and leaves, and reads what is sent once `reads` is set."""

    def __init__(self, *says: dict[str, Any]) -> None:
        self.state, self.scope = SimpleNamespace(request_id="r1"), {}
        self._says = [{"type": "websocket.receive", "text": json.dumps(message)} for message in says]
        self.reads = asyncio.Event()
        self.sent: list[str | bytes] = []

    async def receive(self) -> dict[str, Any]:
        return self._says.pop(0) if self._says else {"type": "websocket.disconnect", "code": 1001}

    async def send_text(self, text: str) -> None:
        await self.reads.wait()
        self.sent.append(text)

    async def send_bytes(self, data: bytes) -> None:
        await self.reads.wait()
        self.sent.append(data)


def socket_of(link: Link, gateway: Gateway) -> ClientSocket:
    return ClientSocket(link, gateway)


async def test_who_leaves_while_the_rest_is_said_is_spoken_to_no_longer() -> None:
    config = {"type": "session.config", "response_format": "wav"}
    link = Link(
        config, {"type": "input.text", "text": "Hello."}, {"type": "input.done"}, {"type": "session.close"}
    )
    worker = ScriptedWorker([Act(0, "mute")])
    async with gateway_of(worker, aligner="off") as gateway:
        connection = Connection(socket_of(link, gateway), Caller("ann", Priority.DEFAULT))
        async with asyncio.timeout(5):
            with pytest.raises(WebSocketDisconnect):
                await connection.run()


async def test_a_file_may_be_larger_than_what_is_held_for_a_slow_client() -> None:
    """Sent as audio that is streamed is, a second file of 90 s ended the socket of who had read none yet."""
    link = Link()
    async with gateway_of(ScriptedWorker([]), client_buffer_bytes=1000) as gateway:
        socket = socket_of(link, gateway)
        config = Config(type="session.config", split_granularity="sentence")
        speaker = Speaker(socket, config, Start(type="start"), 0)
        speaker.started("w0", 24_000)
        for sentence in ("Hello.", "Good bye."):
            speaker.began(sentence)
            speaker.audio(bytes(4000))
            speaker.spoke()
        link.reads.set()
        async with asyncio.timeout(10), socket.interruption:
            await speaker._outbox.flush()
            await socket.outbox.flush()
    files = [sent for sent in link.sent if isinstance(sent, bytes)]
    assert [len(file) > 4000 for file in files] == [True, True]
    told = [json.loads(sent) for sent in link.sent if isinstance(sent, str)]
    assert [message["type"] for message in told] == ["audio.start", "audio.done"] * 2
    assert isinstance(link.sent[1], bytes) and isinstance(link.sent[4], bytes)
