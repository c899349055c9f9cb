"""`/v1/tts` and `/v1/tts/live` of a real gateway, as Fish Audio's clients use them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgpack
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from tests.gateway.stages.processes import TEXT, GatewayProcess, fleet_for

KEY = "acme-0123456789abcdef"
HEADERS = {"Authorization": f"Bearer {KEY}", "model": "s1"}
PLUGIN_REQUEST = {
    "text": "", "chunk_length": 100, "format": "pcm", "sample_rate": 24_000, "mp3_bitrate": 64,
    "opus_bitrate": 64_000, "references": [], "reference_id": "933563129e564b19a115bedd57b7406a",
    "normalize": True, "latency": "balanced", "prosody": None, "top_p": 0.7, "temperature": 0.7,
    "features": ["quality-guard"],
}  # fmt: skip
"""As LiveKit's plugin sends it."""


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with fleet_for(KEY) as gateway:
        yield gateway


@asynccontextmanager
async def live(fleet: GatewayProcess) -> AsyncIterator[ClientConnection]:
    url = f"ws://127.0.0.1:{fleet.port}/v1/tts/live"
    async with connect(url, proxy=None, close_timeout=1, additional_headers=HEADERS) as socket:
        yield socket


async def say(socket: ClientConnection, event: str, **fields: Any) -> None:
    await socket.send(msgpack.packb({"event": event, **fields}))


async def heard(socket: ClientConnection) -> tuple[bytes, dict[str, Any]]:
    """All audio, and what is said at its end."""
    audio = b""
    async with asyncio.timeout(20):
        while (message := msgpack.unpackb(await socket.recv()))["event"] == "audio":
            audio += message["audio"]
    return audio, message


async def test_a_clip_is_asked_for_in_json_and_in_messagepack(fleet: GatewayProcess) -> None:
    body = {**PLUGIN_REQUEST, "text": TEXT}
    async with fleet.http(headers=HEADERS) as http:
        plain = await http.post("/v1/tts", json=body)
        packed = await http.post(
            "/v1/tts", content=msgpack.packb(body), headers={"Content-Type": "application/msgpack"}
        )
        slow = await http.post("/v1/tts", json={**body, "prosody": {"speed": 0.5, "volume": 3}})
    assert plain.status_code == packed.status_code == 200
    assert len(plain.content) == len(packed.content) > 24_000
    assert plain.headers["content-type"].startswith("audio/") and "top_p" in plain.headers["X-Ignored-Fields"]
    assert 1.8 < len(slow.content) / len(plain.content) < 2.2


@pytest.mark.parametrize("format", ["mp3", "wav", "opus"])
async def test_every_format_has_its_usual_rate(fleet: GatewayProcess, format: str) -> None:
    async with fleet.http(headers=HEADERS) as http:
        answer = await http.post("/v1/tts", json={"text": TEXT, "format": format, "opus_bitrate": 32})
    assert answer.headers["X-Sample-Rate"] == ("48000" if format == "opus" else "44100")
    assert answer.content.startswith({"mp3": (b"ID3", b"\xff"), "wav": b"RIFF", "opus": b"OggS"}[format])


async def test_errors_are_read_as_theirs(fleet: GatewayProcess) -> None:
    async with fleet.http(headers=HEADERS) as http:
        answers = [
            await http.post("/v1/tts", json={"text": TEXT, **wrong})
            for wrong in (
                {"format": "ogg"},
                {"references": [{"audio": "", "text": "a"}]},
                {"reference_id": "nobody"},
            )
        ]
        answers.append(
            await http.post("/v1/tts", content=b"\xc1", headers={"Content-Type": "application/msgpack"})
        )
        answers.append(
            await http.post("/v1/tts", json={"text": TEXT}, headers={"Authorization": "Bearer no"})
        )
    assert [answer.status_code for answer in answers] == [422, 422, 404, 400, 401]
    assert all(
        answer.json()["status"] == answer.status_code and answer.json()["message"] for answer in answers
    )


async def test_one_socket_says_one_text_after_the_other(fleet: GatewayProcess) -> None:
    async with live(fleet) as socket:
        for format in ("pcm", "mp3", "wav"):
            await say(socket, "start", request={**PLUGIN_REQUEST, "format": format})
            for word in TEXT.split():
                await say(socket, "text", text=f"{word} ")
            await say(socket, "flush")
            await say(socket, "stop")
            audio, end = await heard(socket)
            assert end == {"event": "finish", "reason": "stop"} and len(audio) > 10_000, format


async def test_text_without_words_is_a_moment_of_silence(fleet: GatewayProcess) -> None:
    async with live(fleet) as socket:
        await say(socket, "start", request={**PLUGIN_REQUEST, "text": "..."})
        await say(socket, "stop")
        audio, end = await heard(socket)
    assert end["reason"] == "stop" and 0 < len(audio) < 24_000


@pytest.mark.parametrize(
    "message",
    [{"event": "text", "text": "a"}, {"event": "sing"}, {"event": "start", "request": {"format": "ogg"}}],
)
async def test_a_wrong_message_ends_the_socket_with_a_reason(
    fleet: GatewayProcess, message: dict[str, Any]
) -> None:
    async with live(fleet) as socket:
        await socket.send(msgpack.packb(message))
        _, end = await heard(socket)
        assert end["reason"] == "error" and end["message"]
        await socket.wait_closed()
        assert socket.close_code not in (1000, 1006)


async def test_a_socket_without_a_key_is_refused(fleet: GatewayProcess) -> None:
    with pytest.raises(InvalidStatus) as caught:
        await connect(f"ws://127.0.0.1:{fleet.port}/v1/tts/live", proxy=None)
    assert caught.value.response.status_code == 401
