"""What a gateway makes of a worker's refusals."""

from __future__ import annotations

import json

import httpx
import pytest

from gateway.settings import load_settings
from gateway.workers.client import RequestRejected, WorkerClient, WorkerRefused, WorkerUnreachable
from gateway.workers.metronome import Metronome
from worker.errors import WorkerError, status_and_detail
from worker.protocol import ErrorCode


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
            await client.control.send_adapter(b"")
