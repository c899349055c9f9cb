"""Real gateway processes, started by the command that users start, and clients for them."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests import forks
from tests.forks import PATIENCE_SECONDS, search_path
from tests.gateway.callers.administration import ADMIN_TOKEN
from tests.worker.harness import WorkerProcess, expected_clip
from tests.worker.process import ListeningProcess, wait_until

TEXT = "The quick brown fox jumps over the lazy dog."
LONG_TEXT = "It was the best of times, it was the worst of times, it was the age of wisdom. " * 4


class GatewayProcess(ListeningProcess):
    """`voxfleet gateway` in a process of its own, on a free port. `settings` travel by environment."""

    def __init__(
        self, workers: list[WorkerProcess], *, max_queue: int | None = None, **settings: Any
    ) -> None:
        urls = ",".join(worker.url for worker in workers)
        arguments = ["gateway", "--workers", urls, "--port", "0"]
        if max_queue is not None:
            arguments += ["--max-queue", str(max_queue)]
        variables = {key: value for key, value in os.environ.items() if not key.startswith("VOXFLEET_")}
        self.settings = settings = {"admin_token": ADMIN_TOKEN, "expose_metrics": True, **settings}
        variables |= {f"VOXFLEET_{key.upper()}": str(value) for key, value in settings.items()}
        variables |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": search_path()}
        variables.setdefault("VOXFLEET_DATA_DIR", os.environ["VOXFLEET_DATA_DIR"])
        self.admin = {"X-Admin-Token": variables["VOXFLEET_ADMIN_TOKEN"]}
        """Headers of an administrator."""
        super().__init__("gateway", forks.start("voxfleet", arguments, variables))
        try:
            self.port = self.wait_until_listening()
        except BaseException:
            self.kill()
            raise

    def wait_until_serving(self, workers: int) -> GatewayProcess:
        """Until so many workers are up."""

        def serving() -> bool | None:
            answer = httpx.get(f"{self.url}/ready", timeout=PATIENCE_SECONDS)
            return True if answer.is_success and answer.json()["workers"] == workers else None

        wait_until(serving, lambda: f"{workers} workers are not up:\n" + "".join(self.log))
        return self

    def http(self, **options: Any) -> httpx.AsyncClient:
        """A client; an administrator's unless it brings headers of its own."""
        options.setdefault("headers", self.admin)
        return httpx.AsyncClient(base_url=self.url, timeout=PATIENCE_SECONDS, trust_env=False, **options)

    @asynccontextmanager
    async def stream(self, **request: Any) -> AsyncIterator[Stream]:
        """A WebSocket with its request sent."""
        async with self.socket() as opened:
            with suppress(ConnectionClosed):  # refused by the head: the caller reads why
                await opened.socket.send(json.dumps(request))
            yield opened

    @asynccontextmanager
    async def socket(self, path: str = "/ws/tts", **options: Any) -> AsyncIterator[Stream]:
        """A WebSocket on which nothing was said yet."""
        url = f"ws://127.0.0.1:{self.port}{path}"
        async with connect(
            url, proxy=None, max_size=None, compression=None, close_timeout=1, **options
        ) as socket:
            yield Stream(socket)


Started = TypeVar("Started", GatewayProcess, WorkerProcess)


class StartFleet:
    """`start(2, step_ms=50, gateway={...})`: so many workers and a gateway, ended with the test."""

    def __init__(self) -> None:
        self.ending = ExitStack()
        """Kills each of them, even when the end of another fails."""

    def __call__(
        self, count: int, engine: str = "synthetic", gateway: dict[str, Any] | None = None, **options: Any
    ) -> tuple[GatewayProcess, list[WorkerProcess]]:
        workers = [self.worker(engine, **options) for _ in range(count)]
        return self.gateway(workers, **(gateway or {})).wait_until_serving(count), workers

    def worker(self, engine: str = "synthetic", **options: Any) -> WorkerProcess:
        return self._to_be_killed(WorkerProcess(engine, **options))

    def gateway(self, workers: list[WorkerProcess], **options: Any) -> GatewayProcess:
        return self._to_be_killed(GatewayProcess(workers, **options))

    def _to_be_killed(self, process: Started) -> Started:
        self.ending.callback(process.kill)
        return process


@contextmanager
def started_fleets() -> Iterator[StartFleet]:
    """A `StartFleet` whose processes are killed when the block ends."""
    start = StartFleet()
    with start.ending:
        yield start


@contextmanager
def fleet_for(key: str, **settings: Any) -> Iterator[GatewayProcess]:
    """A gateway that serves nobody without this key, and a worker of four slots."""
    with started_fleets() as start:
        keys = {"api_keys": json.dumps({"acme": {"key": key}}), "anonymous": False}
        gateway, _ = start(1, slots=4, step_ms=2, gateway=keys | settings)
        yield gateway
        assert not gateway.defects()


class Stream:
    """One connection to `WS /ws/tts`; remembers everything it received."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.messages: list[dict[str, Any]] = []
        self.pcm = b""

    async def receive(self) -> dict[str, Any] | bytes:
        async with asyncio.timeout(PATIENCE_SECONDS):
            message = await self.socket.recv()
        if isinstance(message, bytes):
            self.pcm += message
            return message
        self.messages.append(json.loads(message))
        return self.messages[-1]

    async def receive_type(self, kind: str) -> dict[str, Any]:
        """The next message of that type, whatever comes before it."""
        while True:
            message = await self.receive()
            if isinstance(message, dict) and message["type"] == kind:
                return message

    async def receive_audio(self) -> bytes:
        """The next PCM, whatever comes before it."""
        while not isinstance(message := await self.receive(), bytes):
            pass
        return message

    async def cancel(self) -> None:
        await self.socket.send('{"type":"cancel"}')

    async def receive_rest(self) -> int:
        """Everything until the gateway closes; the close code."""
        try:
            while True:
                await self.receive()
        except ConnectionClosed:
            return self.socket.close_code

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["type"] == kind]


async def eventually(poll: Callable[[], Awaitable[Any]], describe: str) -> Any:
    """The first result of `poll` that is not None; AssertionError when there is none for too long."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if (result := await poll()) is not None:
            return result
        await asyncio.sleep(0.01)
    raise AssertionError(describe)


def events_of(text: str) -> list[dict[str, Any]]:
    """Of an answer of server-sent events that came to its end."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def pcm_of(text: str, seed: int) -> bytes:
    """The clip that the synthetic engine owes."""
    return expected_clip(text, seed)[0]


def check_error(response: httpx.Response, status_code: int) -> dict[str, Any]:
    """The error of a response that must be one, in the one shape."""
    assert response.status_code == status_code, response.text
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    if status_code in (429, 503):
        assert int(response.headers["Retry-After"]) >= 1
    return error


async def workers_of(gateway: GatewayProcess) -> list[dict[str, Any]]:
    async with gateway.http() as http:
        return (await http.get("/api/workers")).json()["workers"]


async def queue_of(gateway: GatewayProcess) -> dict[str, Any]:
    async with gateway.http() as http:
        return (await http.get("/api/queue")).json()


async def queued(gateway: GatewayProcess, length: int) -> None:
    """Until so many requests wait."""

    async def poll() -> bool | None:
        return True if len((await queue_of(gateway))["queue"]) == length else None

    await eventually(poll, f"the queue does not have {length} tickets")


async def one_running(gateway: GatewayProcess) -> None:
    """Until exactly one request holds a slot."""

    async def poll() -> bool | None:
        return True if len((await queue_of(gateway))["running"]) == 1 else None

    await eventually(poll, "nothing runs")


async def all_free(gateway: GatewayProcess) -> None:
    """Until nobody waits and no slot is held."""

    async def poll() -> bool | None:
        queue = await queue_of(gateway)
        used = sum(worker["slots_used"] for worker in await workers_of(gateway))
        return True if not queue["queue"] and not queue["running"] and not used else None

    await eventually(poll, "something is still held")
