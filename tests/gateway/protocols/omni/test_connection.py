"""One socket as vLLM-Omni has it, without a network."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.websockets import WebSocketDisconnect

from gateway.api.transfer.client_socket import ClientSocket
from gateway.callers.identity import Caller
from gateway.live.messages import Start
from gateway.protocols.omni.messages import Config
from gateway.protocols.omni.socket import Connection
from gateway.protocols.omni.speaker import Speaker
from gateway.slots.line.standing import Priority
from tests.gateway.stages.link import Link
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import gateway_of


async def test_who_leaves_while_the_rest_is_said_is_spoken_to_no_longer() -> None:
    config = {"type": "session.config", "response_format": "wav"}
    link = Link(
        config, {"type": "input.text", "text": "Hello."}, {"type": "input.done"}, {"type": "session.close"}
    )
    worker = ScriptedWorker([Act(0, "mute")])
    async with gateway_of(worker, aligner="off") as gateway:
        connection = Connection(ClientSocket(link, gateway), Caller("ann", Priority.DEFAULT))
        async with asyncio.timeout(5):
            with pytest.raises(WebSocketDisconnect):
                await connection.run()


async def test_a_file_may_be_larger_than_what_is_held_for_a_slow_client() -> None:
    """Sent as audio that is streamed is, a second file of 90 s ended the socket of who had read none yet."""
    link = Link()
    async with gateway_of(ScriptedWorker([]), client_buffer_bytes=1000) as gateway:
        socket = ClientSocket(link, gateway)
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
