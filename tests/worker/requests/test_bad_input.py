"""Whatever arrives on the socket or over HTTP, it gets its refusal in the one error shape, and the worker
lives.
"""

import contextlib
import json
import random

import httpx
import pytest
import websockets

from tests.worker.harness import Client, Latents, WorkerProcess, expected_clip
from worker.protocol import Accepted, ErrorDetail, ErrorMessage

START = {"type": "start", "request_id": "r1", "text": "Hello there.", "seed": 7}
ZERO_LATENTS = Latents(shape=(1, 4, 64), data=bytes(1024))
SMALL_LATENTS = Latents(shape=(1, 2, 2), data=bytes(16))
NAN_LATENTS = Latents(shape=(1, 4, 64), data=b"\x00\x00\xc0\x7f" * 256)


async def still_serves(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        await Client(websocket).start("Hello there.", seed=7)
        frames = await Client(websocket).receive_clip()
    assert b"".join(frame.pcm for frame in frames) == expected_clip("Hello there.", 7)[0]


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x00\xff\xfe",
        random.Random(5).randbytes(5000),
        json.dumps(START).encode(),
        "",
        "hello",
        "{",
        "null",
        "[]",
        "42",
        '"start"',
        "{}",
        '{"type": "stop"}',
        '{"type": ["start"]}',
        "[" * 100_000,
        '{"type":' * 10_000,
        "\ud7ff\x00\x01",
    ],
    ids=lambda message: repr(message[:16]),
)
async def test_what_is_no_message_is_answered_and_closes_with_1008(
    worker: WorkerProcess, message: str | bytes
) -> None:
    async with worker.connect() as websocket:
        await websocket.send(message)
        answer = await Client(websocket).receive()
        assert isinstance(answer, ErrorMessage)
        assert answer.error.type == "invalid_request_error"
        assert answer.error.code == "invalid_request"
        assert await Client(websocket).closed() == 1008
    await still_serves(worker)


async def test_bytes_that_are_no_text_close_with_1007(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        await websocket.send(b"\xff\xfe{", text=True)
        assert await Client(websocket).closed() == 1007
    await still_serves(worker)


@pytest.mark.parametrize("fragmented", [False, True])
async def test_a_huge_message_closes_with_1009_before_it_is_read(
    worker: WorkerProcess, fragmented: bool
) -> None:
    text = json.dumps({**START, "text": "a" * (9 << 20)})
    pieces = [text[start : start + (1 << 20)] for start in range(0, len(text), 1 << 20)]
    async with worker.connect() as websocket:
        with contextlib.suppress(websockets.ConnectionClosed):  # closed before all was sent
            await websocket.send(pieces if fragmented else text)
        assert await Client(websocket).closed() == 1009
    await still_serves(worker)


@pytest.mark.parametrize(
    ("changes", "param", "code"),
    [
        ({"text": ""}, "text", "empty_text"),
        ({"text": "  \n"}, "text", "empty_text"),
        ({"text": "a" * 5000}, "text", "text_too_long"),
        ({"text": 5}, "text", "invalid_request"),
        ({"text": None}, "text", "invalid_request"),
        ({"seed": "7"}, "seed", "invalid_request"),
        ({"request_id": "a/b"}, "request_id", "invalid_request"),
        ({"voice": "nobody"}, "voice", "unknown_voice"),
        ({"cfg_value": 1e9}, "cfg_value", "out_of_range"),
        ({"cfg_value": "NaN"}, "cfg_value", "invalid_request"),
        ({"inference_timesteps": 1}, "inference_timesteps", "out_of_range"),
        ({"max_seconds": -1}, "max_seconds", "out_of_range"),
        ({"min_seconds": 5, "max_seconds": 1}, "min_seconds", "out_of_range"),
        ({"colour": "blue"}, "colour", "invalid_request"),
        (
            {"resume_latents": SMALL_LATENTS.model_dump(mode="json")},
            "resume_latents",
            "invalid_latents",
        ),
        ({"resume_latents": ZERO_LATENTS.model_dump(mode="json")}, "resume_latents", "foreign_latents"),
        ({"reference_latents": NAN_LATENTS.model_dump(mode="json")}, "reference_latents", "invalid_latents"),
        ({"prompt_text": "Hi."}, "prompt_text", "invalid_prompt"),
    ],
)
async def test_a_wrong_field_is_named_and_the_connection_takes_the_next_request(
    worker: WorkerProcess, changes: dict, param: str, code: str
) -> None:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await websocket.send(json.dumps({**START, **changes}))
        answer = await client.receive()
        assert isinstance(answer, ErrorMessage)
        assert (answer.error.param, answer.error.code) == (param, code)
        assert answer.error.type == "invalid_request_error"
        await client.start()
        assert isinstance((await client.receive_all())[0], Accepted)


async def test_a_second_start_before_the_end_of_the_first_is_a_breach(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start("Hello there. " * 200)
        await client.receive_audio()
        await client.start(request_id="r2")
        assert await client.closed() == 1008
    await worker.wait_for_free_slots()


async def test_compression_is_not_offered(worker: WorkerProcess) -> None:
    headers = {"Sec-WebSocket-Extensions": "permessage-deflate"}
    async with worker.connect(headers=headers) as websocket:
        assert "Sec-WebSocket-Extensions" not in websocket.response.headers


def error_of(response: httpx.Response) -> ErrorDetail:
    assert set(response.json()) == {"error"}
    return ErrorDetail.model_validate(response.json()["error"], extra="forbid")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "/docs", 404, "not_found"),
        ("GET", "/openapi.json", 404, "not_found"),
        ("GET", "/ws/generate", 404, "not_found"),
        ("GET", "/drain", 405, "method_not_allowed"),
        ("DELETE", "/health", 405, "method_not_allowed"),
        ("POST", "/encode?role=singer", 400, "invalid_request"),
        ("POST", "/encode", 400, "unsupported_audio"),
    ],
)
def test_http_errors_have_the_one_shape(
    worker: WorkerProcess, method: str, path: str, status: int, code: str
) -> None:
    response = worker.request(method, path)
    assert (response.status_code, error_of(response).code) == (status, code)


def test_a_websocket_elsewhere_is_refused(worker: WorkerProcess) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    assert worker.request("GET", "/ws/other", headers=upgrade).status_code in (403, 404)
