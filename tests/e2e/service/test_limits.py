"""Clients that want too much, say too much or nothing, and read too slowly, against a real gateway."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.gateway.stages.processes import (
    LONG_TEXT,
    PATIENCE_SECONDS,
    TEXT,
    GatewayProcess,
    StartFleet,
    all_free,
    check_error,
    eventually,
    one_running,
    queue_of,
    queued,
)

KEY = "acme-0123456789abcdef"


@asynccontextmanager
async def raw(gateway: GatewayProcess) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def post(**request: object) -> bytes:
    """`POST /tts` as it goes over the wire."""
    body = json.dumps(request).encode()
    head = ["POST /tts HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, "", ""]).encode() + body


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    """What comes until the gateway ends the connection."""
    received = bytearray()
    async with asyncio.timeout(PATIENCE_SECONDS):
        try:
            while chunk := await reader.read(1 << 16):
                received += chunk
        except ConnectionResetError:
            pass
    return bytes(received)


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET /health HT",
        b"GET /health HTTP/1.1\r\nHost: x\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nA: b",
    ],
)
async def test_a_connection_without_a_whole_request_is_cut(start: StartFleet, beginning: bytes) -> None:
    gateway, _ = start(1, gateway={"first_message_timeout_seconds": 0.2})
    async with raw(gateway) as (reader, writer):
        writer.write(beginning)
        assert await until_closed(reader) == b""


async def test_a_head_that_comes_byte_by_byte_is_cut(start: StartFleet) -> None:
    gateway, _ = start(1, gateway={"first_message_timeout_seconds": 0.3})
    async with raw(gateway) as (reader, writer):
        closed = asyncio.create_task(until_closed(reader))
        for byte in b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"a" * 10_000:
            if closed.done():
                break
            writer.write(bytes([byte]))
            await asyncio.sleep(0.02)
        assert closed.done()
        assert await closed == b""


async def test_a_response_that_is_not_read_ends_the_connection(start: StartFleet) -> None:
    gateway, _ = start(1, step_ms=1, gateway={"client_stall_seconds": 0.3})
    async with raw(gateway) as (reader, writer):
        writer.write(post(text=TEXT, format="pcm", min_seconds=590.0, sample_rate=48000))
        reader._transport.pause_reading()

        async def answered() -> bool | None:
            async with gateway.http() as http:
                metrics = (await http.get("/metrics")).text
            return 'route="/tts",status="200"' in metrics or None

        await eventually(answered, "the clip was not answered")
        await asyncio.sleep(1.0)
        reader._transport.resume_reading()
        received = await until_closed(reader)
    assert b"200 OK" in received[:20]
    assert len(received) < 590 * 48000 * 2


async def test_a_flood_of_pings_ends_the_connection_and_the_request(start: StartFleet) -> None:
    gateway, _ = start(1, step_ms=20, gateway={"max_messages_per_second": 10})
    async with gateway.stream(text=LONG_TEXT) as stream:
        await stream.receive_type("started")
        for _ in range(20):
            try:
                await stream.socket.ping()
            except ConnectionClosed:
                break
        assert await stream.receive_rest() in (1008, 1006)  # the rest of the flood may reset the connection
    await all_free(gateway)


async def test_a_few_pings_are_answered(start: StartFleet) -> None:
    gateway, _ = start(1)
    async with gateway.socket() as opened:
        for _ in range(3):
            await asyncio.wait_for(await opened.socket.ping(), PATIENCE_SECONDS)


async def test_compression_is_never_agreed_to(start: StartFleet) -> None:
    gateway, _ = start(1)
    url = f"ws://127.0.0.1:{gateway.port}/ws/tts"
    async with connect(url, proxy=None, compression="deflate") as socket:
        assert "Sec-WebSocket-Extensions" not in socket.response.headers
        assert socket.protocol.extensions == []


async def test_a_request_that_takes_too_long_is_ended(start: StartFleet) -> None:
    gateway, _ = start(1, step_ms=50, gateway={"request_timeout_seconds": 0.4})
    async with gateway.http() as http:
        error = check_error(await http.post("/tts", json={"text": LONG_TEXT}), 504)
    assert error["code"] == "request_timeout"
    await all_free(gateway)


async def test_one_client_has_no_more_streams_than_it_may(start: StartFleet) -> None:
    gateway, _ = start(1, slots=4, step_ms=20, gateway={"anonymous_max_streams": 1})
    async with gateway.http() as http, gateway.stream(text=LONG_TEXT) as stream:
        await stream.receive_type("started")
        error = check_error(await http.post("/tts", json={"text": TEXT}), 429)
        assert error["code"] == "too_many_streams"
        await stream.cancel()
        assert await stream.receive_rest() == 1000
        await all_free(gateway)
        assert (await http.post("/tts", json={"text": TEXT})).status_code == 200


async def test_streams_of_a_client_count_once_at_gateways_of_one_database(
    start: StartFleet, tmp_path: Path
) -> None:
    shared = {"database": f"sqlite:///{tmp_path}/voxfleet.db", "resume_secret": KEY}
    shared["anonymous_max_streams"] = "1"
    one, workers = start(1, slots=4, step_ms=20, gateway=shared)
    other = start.gateway(workers, **shared).wait_until_serving(1)

    async with other.http() as http, one.stream(text=LONG_TEXT) as stream:

        async def answers(status: int) -> bool | None:
            return (await http.post("/tts", json={"text": TEXT})).status_code == status or None

        await stream.receive_type("started")
        await eventually(lambda: answers(429), "the other gateway does not hear of it")
        await stream.cancel()
        assert await stream.receive_rest() == 1000
        await eventually(lambda: answers(200), "the other gateway does not hear of its end")


async def test_classes_and_keys_decide_who_is_next(start: StartFleet) -> None:
    keys = json.dumps({"acme": {"key": KEY}})
    gateway, _ = start(1, slots=1, step_ms=60, gateway={"api_keys": keys})
    headers = {"Authorization": f"Bearer {KEY}"}
    order: list[str] = []

    async def ask(name: str, **fields: object) -> None:
        sent = headers if name == "interactive" else {}
        async with gateway.http(headers=sent) as http:
            response = await http.post("/tts", json={"text": TEXT, **fields})
            assert response.status_code == 200
            order.append(name)

    async with gateway.stream(text=LONG_TEXT) as running:
        await running.receive_type("started")
        asks = []
        for count, (name, priority) in enumerate(
            [("bulk", "bulk"), ("default", None), ("interactive", "interactive")], start=1
        ):
            fields = {} if priority is None else {"priority": priority}
            asks.append(asyncio.create_task(ask(name, **fields)))
            await queued(gateway, count)
        listed = [entry["priority"] for entry in (await queue_of(gateway))["queue"]]
        assert listed == ["interactive", "default", "bulk"]
        await running.cancel()
        await asyncio.gather(*asks)
    assert order == ["interactive", "default", "bulk"]


async def test_a_browser_sends_its_key_as_a_subprotocol(start: StartFleet) -> None:
    keys = json.dumps({"acme": {"key": KEY}})
    gateway, _ = start(1, gateway={"api_keys": keys, "anonymous": False})
    offered = ["voxfleet", f"voxfleet.key.{KEY}"]
    async with gateway.socket(subprotocols=offered) as stream:
        assert stream.socket.subprotocol == "voxfleet"
        await stream.socket.send(json.dumps({"text": TEXT, "priority": "interactive"}))
        assert await stream.receive_rest() == 1000
    async with gateway.stream(text=TEXT) as stream:
        assert await stream.receive_rest() == 1008
        assert stream.of_type("error")[0]["error"]["code"] == "api_key_required"


async def test_a_client_may_cancel_its_own_ticket_over_http(start: StartFleet) -> None:
    gateway, _ = start(1, slots=1, step_ms=20, gateway={"admin_token": "the-administrators"})
    async with gateway.http() as http, gateway.stream(text=LONG_TEXT) as running:
        await running.receive_type("started")
        async with gateway.stream(text=TEXT) as waiting:
            ticket = (await waiting.receive_type("queued"))["ticket_id"]
            assert (await http.delete(f"/api/queue/{ticket}")).status_code == 200
            assert await waiting.receive_rest() == 1000
            assert waiting.of_type("cancelled")


async def test_a_client_that_resets_its_connection_frees_its_slot(start: StartFleet) -> None:
    gateway, _ = start(1, slots=1, step_ms=20)
    async with raw(gateway) as (_, writer):
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(1, 13, linger)  # SOL_SOCKET, SO_LINGER: RST on close
        writer.write(post(text=LONG_TEXT))
        await one_running(gateway)
    await all_free(gateway)
