"""What the client raises: failures by the one error shape, limits, wrong addresses and keys."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace

import pytest
from websockets.asyncio.client import ClientConnection

from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess, pcm_of, started_fleets
from tests.voxfleet.client.alice import KEY
from voxfleet.client import (
    AsyncClient,
    AuthenticationError,
    CapacityError,
    Client,
    InvalidRequestError,
    ServerError,
    SpeechError,
    UnreachableError,
    stream_speech,
)
from voxfleet.client.errors import error_from_answer


async def test_failures_are_typed_by_the_one_error_shape(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url, api_key=KEY) as client:
        with pytest.raises(InvalidRequestError) as caught:
            await client.speak(TEXT, cfg_value=99)
        assert (caught.value.code, caught.value.param) == ("invalid_value", "cfg_value")
        assert caught.value.status_code == 422
        with pytest.raises(InvalidRequestError) as caught:
            await anext(client.stream(TEXT, voice="of nobody"))
        assert caught.value.code == "unknown_voice"
    for key in (None, "a-key-that-nobody-has"):
        async with AsyncClient(gateway.url, api_key=key) as client:
            for attempt in (client.speak(TEXT), anext(client.stream(TEXT)), client.delete_voice("v_none")):
                with pytest.raises(AuthenticationError):
                    await attempt
    async with AsyncClient("http://127.0.0.1:9") as client:
        with pytest.raises(UnreachableError):
            await client.speak(TEXT)
        with pytest.raises(UnreachableError):
            await anext(client.stream(TEXT))
        with pytest.raises(UnreachableError):
            async with client.live():
                pass


async def test_a_refusal_before_the_first_message_is_heard(
    gateway: GatewayProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway refuses by the head of the request; its reason is heard although nothing can be sent."""
    send = ClientConnection.send

    async def send_late(socket: ClientConnection, message: str) -> None:
        await socket.wait_closed()
        await send(socket, message)

    monkeypatch.setattr(ClientConnection, "send", send_late)
    async with AsyncClient(gateway.url) as client:
        with pytest.raises(AuthenticationError):
            await anext(client.stream(TEXT))
        async with client.live() as session:
            with pytest.raises(AuthenticationError):
                await anext(aiter(session))


async def test_too_many_requests_at_once_say_when_to_come_back(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url, api_key=KEY) as client:
        streams = [client.stream(LONG_TEXT) for _ in range(2)]
        for stream in streams:
            while not isinstance(await anext(stream), bytes):
                pass
        with pytest.raises(CapacityError) as caught:
            await client.speak(TEXT)
        assert caught.value.code == "too_many_streams" and caught.value.retry_after_seconds >= 1
        for stream in streams:
            await stream.aclose()


async def test_a_stream_that_finds_too_many_connections_says_when_to_come_back(
    gateway: GatewayProcess,
) -> None:
    with started_fleets() as start:
        full = start.gateway([SimpleNamespace(url="http://127.0.0.1:9")], max_connections=1)
        with socket.create_connection(("127.0.0.1", full.port)):
            with pytest.raises(CapacityError) as caught:
                await anext(stream_speech(full.url, TEXT))
            assert (caught.value.code, caught.value.retry_after_seconds) == ("too_many_connections", 5)
            said = [item async for item in stream_speech([full.url, gateway.url], TEXT, seed=7, api_key=KEY)]
    assert b"".join(item for item in said if isinstance(item, bytes)) == pcm_of(TEXT, 7)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [(502, b"<html>", ServerError), (404, b"[]", InvalidRequestError), (418, b'{"error": "x"}', SpeechError)],
)
def test_answers_of_something_else_are_errors_too(status: int, body: bytes, kind: type[SpeechError]) -> None:
    error = error_from_answer("http://gateway", status, body, {})
    assert isinstance(error, kind) and error.status_code == status


def test_a_wrong_address_is_refused() -> None:
    for address in (
        "127.0.0.1:8006",
        [],
        ["ws://x"],
        "http://",
        "http://x:port",
        "http://[x",
        "http://x:99999",
        "http://\udcff",
    ):
        with pytest.raises(ValueError, match="address"):
            Client(address)


@pytest.mark.parametrize("key", ["read-from-a-file\n", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="API key") as refused:
        Client("http://127.0.0.1:1", api_key=key)
    assert key.strip() not in str(refused.value)


def test_a_client_of_another_event_loop_says_so(gateway: GatewayProcess) -> None:
    """Its connection of before is dead; that was told as `Event loop is closed`."""
    client = AsyncClient(gateway.url, api_key=KEY)
    asyncio.run(client.voices())
    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(client.voices())


async def test_a_stream_refuses_a_wrong_address_in_the_same_words() -> None:
    with pytest.raises(ValueError, match="address"):
        await anext(stream_speech("127.0.0.1:8006", "Hello."))
