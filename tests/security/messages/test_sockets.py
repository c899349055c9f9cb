"""S22, S23: a socket takes no large message, no packed one, and does not keep what nobody reads."""

from __future__ import annotations

import asyncio
import zlib

import psutil
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from gateway.settings import GatewaySettings
from tests.gateway.stages.processes import (
    LONG_TEXT,
    PATIENCE_SECONDS,
    GatewayProcess,
    StartFleet,
    all_free,
    eventually,
)

pytestmark = pytest.mark.parametrize("path", ["/ws/tts", "/ws/live"])


async def closed_with(gateway: GatewayProcess, path: str, *messages: bytes) -> int:
    """The close code after these bytes."""
    url = f"ws://127.0.0.1:{gateway.port}{path}"
    async with connect(url, proxy=None, compression="deflate", close_timeout=1) as socket:
        assert "Sec-WebSocket-Extensions" not in socket.response.headers, "packing is not agreed to"
        for message in messages:
            socket.transport.write(message)
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                while True:
                    await socket.recv()
            except ConnectionClosed:
                return socket.close_code


async def test_a_message_beyond_the_limit_is_not_read(path: str, lonely: GatewayProcess) -> None:
    limit = GatewaySettings.model_fields["max_message_bytes"].default
    whole = Frame(Opcode.TEXT, b" " * (limit + 1)).serialize(mask=True)
    announced = Frame(Opcode.TEXT, b" " * (16 * limit)).serialize(mask=True)[:100]
    piece = Frame(Opcode.TEXT, b" " * (limit // 2), fin=False).serialize(mask=True)
    more = Frame(Opcode.CONT, b" " * (limit // 2), fin=False).serialize(mask=True)
    for messages in ((whole,), (announced,), (piece, more, more)):
        assert await closed_with(lonely, path, *messages) == 1009


async def test_a_bomb_is_not_unpacked(path: str, lonely: GatewayProcess) -> None:
    packer = zlib.compressobj(9, wbits=-15)
    bomb = packer.compress(bytes(64 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)
    assert len(bomb) < 1 << 16
    before = psutil.Process(lonely.process.pid).memory_info().rss
    for _ in range(3):
        packed = bytearray(Frame(Opcode.TEXT, bomb[:-4]).serialize(mask=True))
        packed[0] |= 0x40  # RSV1: packed, says permessage-deflate
        assert await closed_with(lonely, path, bytes(packed)) == 1002
    assert psutil.Process(lonely.process.pid).memory_info().rss - before < 16 << 20


async def test_who_does_not_read_does_not_keep_a_slot(path: str, start: StartFleet) -> None:
    settings = {"client_buffer_bytes": 1 << 16, "client_stall_seconds": 0.5}
    gateway, _ = start(1, step_ms=1, slots=1, gateway=settings)
    first = {"/ws/tts": f'{{"text": "{LONG_TEXT * 8}"}}', "/ws/live": '{"type": "start"}'}[path]
    url = f"ws://127.0.0.1:{gateway.port}{path}"
    async with connect(url, proxy=None, compression=None, max_queue=1, close_timeout=0.1) as socket:
        socket.transport.pause_reading()
        await socket.send(first)
        if path == "/ws/live":
            await socket.send(f'{{"type": "append", "text": "{LONG_TEXT * 8}"}}')
        async with gateway.http() as http:

            async def noticed() -> bool | None:
                return "slow_client" in (await http.get("/metrics")).text or None

            await eventually(noticed, "nobody noticed that nothing is read")
        await all_free(gateway)
        socket.transport.abort()
