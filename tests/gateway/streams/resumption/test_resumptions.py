"""A clip is spoken once at a time, however often its token comes: the latest connection has it."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

from gateway.callers.elsewhere import EVERY_SECONDS
from tests.gateway.stages.processes import (
    LONG_TEXT,
    GatewayProcess,
    StartFleet,
    Stream,
    all_free,
    pcm_of,
    queue_of,
)

SEED = 9


async def resume(gateway: GatewayProcess, token: str, stack: AsyncExitStack) -> Stream:
    stream = await stack.enter_async_context(gateway.socket())
    await stream.socket.send(json.dumps({"resume_token": token}))
    return stream


async def test_who_comes_back_takes_the_place_of_a_connection_that_is_not_gone_yet(start: StartFleet) -> None:
    gateway, _ = start(1, slots=2, step_ms=20, gateway={"anonymous_max_streams": 1})
    async with AsyncExitStack() as stack:
        before = await stack.enter_async_context(gateway.stream(text=LONG_TEXT, seed=SEED, resume=True))
        token = (await before.receive_type("resume_token"))["token"]
        after = await resume(gateway, token, stack)
        code = await after.receive_rest()
        assert code == 1000, after.messages
        assert await before.receive_rest() == 1008
    assert before.messages[-1]["error"]["code"] == "resumed_elsewhere"
    assert before.messages[-1]["error"]["param"] == "resume_token"
    (started,) = after.of_type("started")
    assert after.pcm == pcm_of(LONG_TEXT, SEED)[2 * started["resumed_at_sample"] :]
    await all_free(gateway)


async def test_a_gateway_that_died_holds_nobody_back(start: StartFleet) -> None:
    """What it wrote of its clients counts for some seconds, but not against a clip that goes on."""
    limit = {"anonymous_max_streams": 1}
    dying, _ = start(1, slots=1, step_ms=20, gateway=limit)
    async with dying.stream(text=LONG_TEXT) as stream:
        await stream.receive_audio()
        await asyncio.sleep(2 * EVERY_SECONDS)  # it has written what is open
        dying.kill()
    gateway, _ = start(1, slots=2, step_ms=20, gateway=limit)
    async with AsyncExitStack() as stack:
        before = await stack.enter_async_context(gateway.stream(text=LONG_TEXT, seed=SEED, resume=True))
        token = (await before.receive_type("resume_token"))["token"]
        await asyncio.sleep(EVERY_SECONDS / 2)  # it has read what the other wrote
        after = await resume(gateway, token, stack)
        assert await after.receive_rest() == 1000, after.messages
    await all_free(gateway)


async def test_a_token_holds_one_place_in_line_however_often_it_is_sent(start: StartFleet) -> None:
    gateway, _ = start(1, slots=1, step_ms=20)
    async with gateway.stream(text=LONG_TEXT, seed=SEED, resume=True) as stream:
        token = (await stream.receive_type("resume_token"))["token"]
    await all_free(gateway)
    async with AsyncExitStack() as stack:
        other = await stack.enter_async_context(gateway.stream(text=LONG_TEXT))
        await other.receive_audio()
        replays = []
        for _ in range(4):
            replays.append(await resume(gateway, token, stack))
            await replays[-1].receive_type("queued")
            assert len((await queue_of(gateway))["queue"]) == 1
        for replay in replays[:-1]:
            assert await replay.receive_rest() == 1008
        await other.cancel()
        assert await replays[-1].receive_rest() == 1000
    await all_free(gateway)
