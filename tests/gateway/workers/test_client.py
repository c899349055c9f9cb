"""What a gateway makes of a worker's refusals."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from gateway.settings import load_settings
from gateway.workers.client import RequestRejected, WorkerClient, WorkerRefused, WorkerUnreachable
from gateway.workers.metronome import Metronome
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from worker.errors import WorkerError, status_and_detail
from worker.protocol import (
    UNKNOWN_ADAPTER,
    AdapterDescription,
    AdapterUse,
    ErrorCode,
    ErrorDetail,
    StartRequest,
)


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        (ErrorCode.TOO_LARGE, RequestRejected),
        (ErrorCode.DRAINING, WorkerRefused),
        (ErrorCode.SLOW_SENDER, WorkerUnreachable),
    ],
)
async def test_a_body_that_came_too_slowly_is_no_mistake_of_the_client_s(
    code: ErrorCode, refusal: type[Exception]
) -> None:
    status, detail = status_and_detail(WorkerError(code, "no"))
    body = httpx.ByteStream(json.dumps({"error": detail.model_dump()}).encode())
    transport = httpx.MockTransport(lambda _: httpx.Response(status, stream=body))
    async with httpx.AsyncClient(transport=transport) as http:
        client = WorkerClient("http://127.0.0.1:1", load_settings(worker_urls=[]), http, Metronome())
        with pytest.raises(refusal):
            await client.control.send_adapter(b"", "a" * 64)


ADAPTER = AdapterUse(digest="a" * 64, name="anna")
TAKEN = AdapterDescription(
    digest=ADAPTER.digest, rank=1, num_layers=1, num_parameters=1, base="", model="m", model_revision="1"
)
LACKING = Act(refusal=ErrorDetail(message="not here", type="invalid_request_error", code=UNKNOWN_ADAPTER))


def request_with_adapter() -> StartRequest:
    return StartRequest(request_id="r", text="Hello.", seed=1, adapter=ADAPTER)


async def read_adapter(digest: str) -> bytes:
    return digest.encode()


@pytest.mark.parametrize(("refusals", "sent"), [(0, 0), (1, 0), (2, 1), (4, 3), (5, None)])
async def test_an_adapter_that_others_push_out_is_sent_again(refusals: int, sent: int | None) -> None:
    """`sent`: how often; None: until the worker counts as having no room."""
    bodies: list[bytes] = []

    def take(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content)
        return httpx.Response(200, stream=httpx.ByteStream(TAKEN.model_dump_json().encode()))

    script = [LACKING] * refusals + [Act()]
    async with (
        ScriptedWorker(script).running() as worker,
        httpx.AsyncClient(transport=httpx.MockTransport(take)) as http,
    ):
        settings = load_settings(worker_urls=[])
        client = WorkerClient(worker.url, settings, http, Metronome(), read_adapter=read_adapter)
        start = request_with_adapter()
        if sent is None:
            with pytest.raises(WorkerRefused, match="no room"):
                await client.generate(start).__aenter__()
            assert len(bodies) == 3
        else:
            async with client.generate(start) as stream:
                assert not stream.finished
            assert bodies == [ADAPTER.digest.encode()] * sent
        client.drop_connections()


class WatchedLock(asyncio.Lock):
    """Tells when somebody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_for = asyncio.Event()

    async def acquire(self) -> bool:
        if self.locked():
            self.waited_for.set()
        return await super().acquire()


async def test_who_sends_an_adapter_and_who_waits_for_that_learn_that_the_worker_is_down() -> None:
    """Neither at the bound of sending, a minute later."""
    sending = asyncio.Event()

    async def never_answer(request: httpx.Request) -> httpx.Response:
        sending.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with (
        ScriptedWorker([LACKING]).running() as worker,
        httpx.AsyncClient(transport=httpx.MockTransport(never_answer)) as http,
    ):
        settings = load_settings(worker_urls=[])
        client = WorkerClient(worker.url, settings, http, Metronome(), read_adapter=read_adapter)
        client._sending_adapter = lock = WatchedLock()
        asked = [asyncio.create_task(client.generate(request_with_adapter()).__aenter__())]
        await sending.wait()
        asked.append(asyncio.create_task(client.generate(request_with_adapter()).__aenter__()))
        await lock.waited_for.wait()
        client.lose()
        async with asyncio.timeout(30):
            found = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(error) for error in found] == [WorkerUnreachable] * 2
        assert len(worker.requests) == 3, "who waited asks a worker that is down nothing more"
