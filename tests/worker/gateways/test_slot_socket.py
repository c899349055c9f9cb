"""The socket over which gateways hear whose turn it is, of a real worker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import websockets

from tests.worker.harness import LONG, PATIENCE_SECONDS, Client, StartWorker, WorkerProcess, ready_worker
from worker.protocol import GATEWAY_HEADER, SLOTS_PATH, Accepted, ErrorMessage


@pytest.fixture(scope="module")
def worker() -> Iterator[WorkerProcess]:
    with ready_worker(slots=1) as process:
        yield process


class Gateway:
    """The far end of the socket."""

    def __init__(self, socket: websockets.ClientConnection, name: str, worker: WorkerProcess) -> None:
        self.socket, self.name, self.worker = socket, name, worker

    async def say(self, kind: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": kind, **fields}))

    async def hear(self, kind: str, **fields: Any) -> dict[str, Any]:
        """The next message of that kind with such fields."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                message = json.loads(await self.socket.recv())
                if message["type"] == kind and fields.items() <= message.items():
                    return message

    @asynccontextmanager
    async def request(self, **fields: Any) -> AsyncIterator[Client]:
        async with self.worker.connect(headers={GATEWAY_HEADER: self.name}) as opened:
            client = Client(opened)
            await client.start(LONG, **fields)
            yield client


@asynccontextmanager
async def gateway_of(worker: WorkerProcess, name: str) -> AsyncIterator[Gateway]:
    url = f"ws://127.0.0.1:{worker.port}{SLOTS_PATH}"
    async with websockets.connect(
        url, additional_headers={GATEWAY_HEADER: name}, close_timeout=0.1
    ) as socket:
        gateway = Gateway(socket, name, worker)
        await gateway.hear("standing")
        yield gateway


async def test_a_free_slot_goes_to_the_gateway_whose_turn_it_is(worker: WorkerProcess) -> None:
    async with gateway_of(worker, "gateway-a") as a, gateway_of(worker, "gateway-b") as b:
        async with a.request() as first:
            assert isinstance(await first.receive(), Accepted)
            assert await b.hear("standing", others=1) == {"type": "standing", "others": 1, "waiting": 0}
            await a.say("waiting", requests=1)
            await b.hear("standing", waiting=1)
            await b.say("waiting", requests=1)
            await a.hear("standing", waiting=1)
            await first.cancel()
            grant = (await b.hear("grant"))["number"]
            async with a.request() as refused:
                answer = await refused.receive()
                assert isinstance(answer, ErrorMessage) and answer.error.code == "busy"
            async with b.request(claim={"lease": "l1", "grant": grant}) as granted:
                assert isinstance(await granted.receive(), Accepted)
        await worker.wait_for_free_slots()


async def test_a_gateway_that_is_gone_is_waited_for_by_nobody(worker: WorkerProcess) -> None:
    async with gateway_of(worker, "gateway-b") as b:
        async with gateway_of(worker, "gateway-a") as a:
            await a.say("keep", lease="session")
            await b.hear("standing", others=1)
            await a.say("waiting", requests=1)
            await b.say("waiting", requests=1)
            await b.hear("standing", waiting=1)
            a.socket.transport.abort()
            await b.hear("standing", others=0, waiting=0)
        async with b.request() as free:
            assert isinstance(await free.receive(), Accepted)
        await worker.wait_for_free_slots()


@pytest.mark.parametrize(
    "message",
    [
        "not json",
        "{}",
        '{"type":"waiting","requests":-1}',
        '{"type":"waiting","requests":1e9}',
        '{"type":"keep","lease":"../../etc"}',
        '{"type":"waiting","requests":1,"padding":"' + "a" * 2000 + '"}',
    ],
)
async def test_what_is_no_message_closes_the_socket(worker: WorkerProcess, message: str) -> None:
    async with gateway_of(worker, "gateway-a") as a:
        await a.socket.send(message)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await a.socket.wait_closed()
        assert a.socket.close_code == 1008
    assert not worker.defects()


@pytest.mark.parametrize("name", [None, "short", "no spaces, please", "a" * 65])
async def test_a_gateway_has_a_name(worker: WorkerProcess, name: str | None) -> None:
    headers = {} if name is None else {GATEWAY_HEADER: name}
    url = f"ws://127.0.0.1:{worker.port}{SLOTS_PATH}"
    async with websockets.connect(url, additional_headers=headers, close_timeout=0.1) as socket:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await socket.wait_closed()
        assert socket.close_code == 1008


async def test_the_socket_is_for_holders_of_the_secret(start_worker: StartWorker) -> None:
    secret = "a-secret-of-workers"
    closed = start_worker(environment={"VOXFLEET_WORKER_SECRET": secret}).wait_until_ready()
    url = f"ws://127.0.0.1:{closed.port}{SLOTS_PATH}"
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with websockets.connect(url, additional_headers={GATEWAY_HEADER: "gateway-a"}):
            pass
    assert refused.value.response.status_code == httpx.codes.UNAUTHORIZED
