"""A request that is over leaves memory at once: nothing of it waits for the garbage collector.

Objects that hold each other stay until a full collection, which comes after tens of thousands of them: how
much of them is held at a time is a matter of chance, and memory creeps up to the worst that has happened.
"""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect

from gateway.api.speech.stream import StreamSession
from gateway.api.transfer.client_socket import ClientSocket
from gateway.app import create_app
from gateway.cli import server_config
from gateway.edge.connections.http import GatewayHttpProtocol
from gateway.edge.connections.websocket import BoundedWebSocketProtocol
from gateway.settings import load_settings
from gateway.slots.line.tickets import Lease, Ticket
from gateway.streams.clip.clip import Clip
from gateway.streams.interruption import Interruption
from gateway.synthesis.attempts import Attempts
from gateway.synthesis.synthesis import Synthesis
from gateway.workers.frame_stream import FrameStream
from tests.gateway.callers.administration import ADMIN, ADMIN_TOKEN
from tests.gateway.stages.processes import eventually
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.server import Server, running

OF_A_REQUEST = (
    Attempts, GatewayHttpProtocol, BoundedWebSocketProtocol, ClientSocket, Clip, FrameStream, Interruption,
    Lease, StreamSession, Synthesis, Ticket,
)  # fmt: skip
ORDER = {"text": "Nothing is left.", "seed": 1}


@pytest.fixture
async def address(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """Of a gateway in this process, whose worker plays the acts that the test names."""
    async with ScriptedWorker(getattr(request, "param", [Act()])).running() as worker:
        settings = load_settings(
            admin_token=ADMIN_TOKEN,
            worker_urls=worker.url,
            data_dir=tmp_path,
            host="127.0.0.1",
            port=0,
            health_retry_seconds=0.02,
        )
        async with running(server_config(settings, create_app(settings))) as server:
            yield await eventually(lambda: ready(server), "ready")


async def ready(server: Server) -> str | None:
    """The address of a gateway that has a worker."""
    address = f"127.0.0.1:{await server.port}"
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://{address}/ready")
    return address if answer.status_code == 200 else None


@pytest.fixture
def no_collector(address: str) -> Iterator[None]:
    """The garbage collector rests; what there was before is no matter of the test, so it is not listed."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()


async def nothing_is_left() -> bool | None:
    return None if left() else True


async def speaks() -> bool | None:
    return True if left()["FrameStream"] else None


def left() -> Counter[str]:
    """The kinds of what came to be of requests. `isinstance` would ask proxies of what is gone."""
    return Counter(type(each).__name__ for each in gc.get_objects() if issubclass(type(each), OF_A_REQUEST))


async def check_nothing_is_left() -> None:
    try:
        await eventually(nothing_is_left, "nothing left")
    except AssertionError:
        pytest.fail(f"only a collection would remove {dict(left())}")


async def test_of_a_clip_over_http(address: str, no_collector: None) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"http://{address}/tts", json={**ORDER, "format": "pcm"})
    assert answer.status_code == 200
    await check_nothing_is_left()


async def test_of_a_clip_over_a_websocket(address: str, no_collector: None) -> None:
    async with connect(f"ws://{address}/ws/tts") as socket:
        await socket.send(json.dumps(ORDER))
        async for message in socket:
            last = message
    assert json.loads(last)["type"] == "done"
    await check_nothing_is_left()


@pytest.mark.parametrize("address", [[Act(patches=0, fault="hang")]], indirect=True)
@pytest.mark.parametrize("over_http", [True, False])
async def test_of_a_client_that_left(address: str, no_collector: None, over_http: bool) -> None:
    body = json.dumps({**ORDER, "format": "pcm"})
    if over_http:
        host, port = address.split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /tts HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        await eventually(speaks, "speaking")
        writer.transport.abort()
    else:
        async with connect(f"ws://{address}/ws/tts") as socket:
            await socket.send(json.dumps(ORDER))
            await eventually(speaks, "speaking")
            socket.transport.abort()
    await check_nothing_is_left()


@pytest.mark.parametrize("path", ["/tts", "/api/queue", "/api/workers"])
async def test_a_request_takes_no_thread(address: str, path: str) -> None:
    before = set(threading.enumerate())
    async with httpx.AsyncClient(base_url=f"http://{address}", headers=ADMIN) as client:
        order = {**ORDER, "format": "pcm"}
        answer = await (client.post(path, json=order) if path == "/tts" else client.get(path))
    assert answer.status_code == 200
    started = [thread.name for thread in threading.enumerate() if thread not in before]
    assert not [name for name in started if name.startswith("AnyIO")]
