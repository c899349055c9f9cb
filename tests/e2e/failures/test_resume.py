"""A gateway may die too: a client with a resume token goes on at any gateway that has the same secret."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest

from tests.gateway.stages.processes import LONG_TEXT, GatewayProcess, StartFleet, pcm_of
from voxfleet.client import SpeechError, stream_speech

SECRET = "sixteen characters or more"


def two_gateways(start: StartFleet, step_ms: int = 20, **settings: Any) -> tuple[GatewayProcess, ...]:
    settings = {"resume_secret": SECRET, **settings}
    first, workers = start(2, slots=2, step_ms=step_ms, gateway=settings)
    return first, start.gateway(workers, **settings).wait_until_serving(2)


async def begin(gateway: GatewayProcess, patches: int = 3, **request: Any) -> tuple[str, bytes]:
    """Token and audio of a clip whose client leaves after some patches."""
    token = ""
    async with gateway.stream(text=LONG_TEXT, seed=9, resume=True, **request) as stream:
        while len(stream.of_type("resume_token")) < patches:
            await stream.receive()
        for piece in stream.of_type("resume_token"):
            token += piece["token"]
        return token, stream.pcm


async def test_the_python_client_hears_one_clip_when_its_gateway_is_killed(start: StartFleet) -> None:
    first, second = two_gateways(start)
    pcm, kinds = b"", []
    async for item in stream_speech([first.url, second.url], LONG_TEXT, seed=9):
        if isinstance(item, bytes):
            pcm += item
            if len(pcm) > 5 * 7680 and first.process.poll() is None:
                first.kill()
        else:
            kinds.append(item["type"])
    assert pcm == pcm_of(LONG_TEXT, 9)
    assert "reconnecting" in kinds
    assert [kind for kind in kinds if kind in ("started", "resumed", "done")] == [
        "started",
        "resumed",
        "done",
    ]


async def test_a_client_moves_on_when_its_gateway_is_told_to_end(start: StartFleet) -> None:
    first, second = two_gateways(start, shutdown_seconds=0.2)
    pcm = b""
    async for item in stream_speech([first.url, second.url], LONG_TEXT, seed=9):
        if isinstance(item, bytes):
            if not pcm:
                first.process.send_signal(signal.SIGTERM)
            pcm += item
    assert pcm == pcm_of(LONG_TEXT, 9)


async def test_any_gateway_with_the_secret_continues_from_the_token(start: StartFleet) -> None:
    first, second = two_gateways(start)
    token, heard = await begin(first)
    async with second.socket() as stream:
        half = len(token) // 2
        for part, more in ((token[:half], True), (token[half:], False)):
            await stream.socket.send(json.dumps({"resume_token": part, "more": more}))
        assert await stream.receive_rest() == 1000
    resumed_at = stream.of_type("started")[0]["resumed_at_sample"]
    assert 0 < resumed_at <= len(heard) // 2
    assert heard[: 2 * resumed_at] + stream.pcm == pcm_of(LONG_TEXT, 9)
    assert stream.of_type("resume_token"), "the token goes on to grow"


@pytest.mark.parametrize("damage", ["cut", "swapped", "changed", "another secret", "no patches", "words"])
async def test_a_token_that_was_tampered_with_is_refused(start: StartFleet, damage: str) -> None:
    gateway, workers = start(1, slots=2, step_ms=10, gateway={"resume_secret": SECRET})
    token, _ = await begin(gateway)
    head, request, first, second, *_ = token.split(".")
    forged = {
        "cut": token[:-5],
        "swapped": f"{head}.{request}.{second}.{first}",
        "changed": token[:-9] + ("A" if token[-9] != "A" else "B") + token[-8:],
        "another secret": token,
        "no patches": f"{head}.{request}",
        "words": "not a token",
    }[damage]
    other = start.gateway(workers, resume_secret=SECRET[::-1]).wait_until_serving(1)
    async with (other if damage == "another secret" else gateway).socket() as stream:
        await stream.socket.send(json.dumps({"resume_token": forged}))
        assert await stream.receive_rest() == 1008
    assert stream.messages[-1]["error"]["code"] == "invalid_resume_token"
    assert not stream.pcm


async def test_a_token_is_of_use_to_the_key_it_was_given_to_alone(start: StartFleet) -> None:
    keys = json.dumps({"alice": {"key": "alice's own secret key"}, "bob": {"key": "bob's own secret key"}})
    gateway, _ = start(1, slots=2, step_ms=10, gateway={"resume_secret": SECRET, "api_keys": keys})
    token = ""
    async with gateway.socket(additional_headers={"X-API-Key": "alice's own secret key"}) as stream:
        await stream.socket.send(json.dumps({"text": LONG_TEXT, "resume": True}))
        token = (await stream.receive_type("resume_token"))["token"]
    for headers in ({}, {"X-API-Key": "bob's own secret key"}):
        async with gateway.socket(additional_headers=headers) as stream:
            await stream.socket.send(json.dumps({"resume_token": token}))
            assert await stream.receive_rest() == 1008
        assert stream.messages[-1]["error"]["code"] == "invalid_resume_token"


async def test_an_old_token_is_refused(start: StartFleet) -> None:
    gateway, _ = start(1, slots=2, step_ms=10, gateway={"resume_secret": SECRET, "resume_seconds": 0.01})
    token, _ = await begin(gateway)
    await asyncio.sleep(0.1)
    async with gateway.socket() as stream:
        await stream.socket.send(json.dumps({"resume_token": token}))
        assert await stream.receive_rest() == 1008
    assert stream.messages[-1]["error"]["code"] == "resume_token_expired"


async def test_resuming_and_resampling_exclude_each_other(start: StartFleet) -> None:
    gateway, _ = start(1, slots=2, step_ms=10)
    async with gateway.stream(text=LONG_TEXT, resume=True, sample_rate=16000) as stream:
        assert await stream.receive_rest() == 1008
    assert stream.messages[-1]["error"]["param"] == "sample_rate"


async def test_without_being_asked_no_token_is_sent(start: StartFleet) -> None:
    gateway, _ = start(1, slots=2, step_ms=5)
    async with gateway.stream(text="Short.", seed=1) as stream:
        await stream.receive_rest()
    assert not stream.of_type("resume_token")


async def test_the_client_gives_up_on_addresses_that_never_answered() -> None:
    with pytest.raises(SpeechError, match="cannot reach"):
        async for item in stream_speech(["http://127.0.0.1:1", "http://127.0.0.1:2"], "Hello."):
            assert item["type"] == "reconnecting"
