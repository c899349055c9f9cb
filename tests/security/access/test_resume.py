"""S26: a resume token is sealed for its client, costs what any request costs and overtakes nobody else."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from gateway.errors import ApiError
from gateway.requests import StreamRequest
from gateway.slots.line.standing import Standing
from gateway.slots.requirement import Requirement
from gateway.streams.clip.clip import Clip
from gateway.streams.resumption.token import ResumeTokens
from tests.gateway.stages.fleet import (
    ANY,
    BULK,
    DEFAULT,
    INTERACTIVE,
    Counterpart,
    Fleet,
    check_queue,
    describe_model,
    one_taken_slot,
)
from tests.gateway.stages.processes import LONG_TEXT, StartFleet, all_free, queued

RESUMED = Requirement("alpha", "default", "1")
KEY = "an-interactive-key-of-32-letters"


@pytest.fixture
async def one_slot() -> AsyncIterator[Counterpart]:
    with one_taken_slot(max_queue=8) as counterpart:
        yield counterpart


async def test_a_resumed_clip_waits_in_its_own_class(one_slot: Counterpart) -> None:
    for name, priority in [("b1", BULK), ("c1", BULK), ("d1", DEFAULT), ("i1", INTERACTIVE)]:
        one_slot.admit(name, priority, requirement=RESUMED if name == "b1" else ANY)
    assert one_slot.serve(4) == "i1 d1 b1 c1"


async def test_it_goes_before_its_own_clients_others_and_takes_turns_with_the_rest(
    one_slot: Counterpart,
) -> None:
    for name in ("b1", "a1", "a2"):
        one_slot.admit(name)
    for name in ("a3", "a4", "a5"):
        one_slot.admit(name, requirement=RESUMED)
    assert [ticket.request_id for ticket in one_slot.fleet.pool.queue] == ["b1", "a3", "a4", "a5", "a1", "a2"]
    check_queue(one_slot.fleet.pool.queue)
    one_slot.admit("b2")
    assert one_slot.serve(7) == "b1 a3 a4 b2 a5 a1 a2"


async def test_it_is_charged(one_slot: Counterpart) -> None:
    for n in range(3):
        one_slot.admit(f"a{n}", audio_seconds=3.0, requirement=RESUMED)
    for n in range(4):
        one_slot.admit(f"b{n}", audio_seconds=1.0)
    assert one_slot.serve(5) == "a0 b0 b1 b2 a1"


async def test_it_is_told_its_place(one_slot: Counterpart) -> None:
    for name in ("a1", "a2", "a3"):
        one_slot.admit(name)
    resumed = one_slot.admit("a4", requirement=RESUMED)
    assert (resumed.position, next(iter(one_slot.fleet.pool.queue))) == (1, resumed)


async def test_the_queue_has_no_more_room_for_resumed_clips_than_for_others(one_slot: Counterpart) -> None:
    for n in range(8):
        one_slot.admit(f"a{n}", requirement=RESUMED)
    with pytest.raises(ApiError, match="queue is full"):
        await one_slot.admit("a8", requirement=RESUMED).future
    assert one_slot.admit("b1").waiting, "the flood pays for itself"
    assert len(one_slot.fleet.pool.queue) == 8


async def test_a_full_queue_loses_its_newcomers_before_what_somebody_listens_to(
    one_slot: Counterpart,
) -> None:
    for n in range(4):
        one_slot.admit(f"a{n}")
    for n in range(4, 8):
        one_slot.admit(f"a{n}", requirement=RESUMED)
    one_slot.admit("b1")
    with pytest.raises(ApiError, match="queue is full"):
        one_slot.tickets["a3"].future.result()
    assert all(one_slot.tickets[f"a{n}"].waiting for n in range(4, 8))


async def test_a_client_has_no_more_streams_for_resuming_them() -> None:
    pool = Fleet(1).pool
    standing = Standing("a", max_streams=2)
    with pool.admit("1", ANY, standing=standing), pool.admit("2", RESUMED, standing=standing):
        with pytest.raises(ApiError) as refused, pool.admit("3", RESUMED, standing=standing):
            pass
    assert refused.value.code == "too_many_streams"


async def test_the_order_that_is_announced_holds_with_resumed_clips_in_it() -> None:
    draw = random.Random(3)
    for _ in range(20):
        counterpart = Counterpart(Fleet(1))
        counterpart.admit("x")
        for n in range(12):
            priority = draw.choice([INTERACTIVE, DEFAULT, BULK])
            requirement = draw.choice([ANY, RESUMED])
            counterpart.admit(f"{draw.choice('abc')}{n}", priority, 1.0, requirement=requirement)
        announced = [ticket.request_id for ticket in counterpart.fleet.pool.queue]
        assert counterpart.serve(12).split() == announced
        check_queue(counterpart.fleet.pool.queue)
        for stack in counterpart.admissions.values():
            stack.close()


async def test_many_resumed_bulk_clips_do_not_keep_an_interactive_key_waiting(start: StartFleet) -> None:
    """They once held all places before it, past `max_queue`, and were charged nothing."""
    keys = json.dumps({"me": {"key": KEY}})
    gateway, _ = start(1, slots=1, step_ms=5, gateway={"api_keys": keys, "max_queue": 16})
    tokens = []
    for seed in range(16):
        async with gateway.stream(text=LONG_TEXT, seed=seed, resume=True, priority="bulk") as stream:
            tokens.append((await stream.receive_type("resume_token"))["token"])
    await all_free(gateway)
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(gateway.stream(text=LONG_TEXT, priority="bulk"))
        await running.receive_audio()
        for token in tokens:
            replay = await stack.enter_async_context(gateway.socket())
            await replay.socket.send(json.dumps({"resume_token": token}))
        await queued(gateway, 16)
        headers = {"Authorization": f"Bearer {KEY}"}
        mine = await stack.enter_async_context(gateway.socket(additional_headers=headers))
        await mine.socket.send(json.dumps({"text": "Me first.", "priority": "interactive"}))
        assert (await mine.receive_type("queued"))["position"] == 1
        await queued(gateway, 16)  # one of the flood went for it
        await running.cancel()
        assert await mine.receive_rest() == 1000


@pytest.mark.parametrize("token", ["." * (8 << 20), "A" * 22 + ".A" * (4 << 20)])
def test_a_token_of_millions_of_pieces_is_not_taken_apart(token: str) -> None:
    """It once took the event loop half a second, and half a gigabyte."""
    tracemalloc.start()
    try:
        with pytest.raises(ApiError, match="resume token"):
            ResumeTokens(b"s" * 32, 60.0).open(token, "")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < len(token)


async def test_the_event_loop_goes_on_while_a_long_token_is_opened() -> None:
    work = asyncio.create_task(ResumeTokens(b"s" * 32, 60.0).open_beside("A" * (8 << 20), ""))
    await asyncio.sleep(0)
    assert not work.done()
    with pytest.raises(ApiError, match="resume token"):
        await work


# --------------------------------------------------------------------------------------------- what is in one


SECRET, CLIENT = b"the secret of all gateways", "key:ann"


def sealed(clock: Callable[[], float] = lambda: 1000.0) -> tuple[ResumeTokens, str]:
    """A token of a clip of three patches, two of them added later."""
    tokens = ResumeTokens(SECRET, 300.0, clock)
    clip = Clip(StreamRequest(text="A text that nobody else may read."), 7, 60.0)
    clip.begin(describe_model())
    writer = tokens.begin(CLIENT)
    clip.commit(bytes(1024), 3840)
    token = writer.extend(clip).text
    for _ in range(2):
        clip.commit(bytes(1024), 3840)
        token += writer.extend(clip).text
    return tokens, token


def test_a_token_is_read_by_its_gateways_alone() -> None:
    tokens, token = sealed()
    clip, _ = tokens.open(token, CLIENT)
    assert (clip.request.text, len(clip.latents)) == ("A text that nobody else may read.", 3)
    raw = b"".join(base64.urlsafe_b64decode(piece + "==") for piece in token.split("."))
    assert b"nobody" not in raw and b"nobody" not in token.encode()


def test_a_token_is_whole_or_nothing() -> None:
    """Any bit that flips, any piece that goes, comes twice or changes its place."""
    tokens, token = sealed()
    head, *pieces = token.split(".")
    others = sealed()[1].split(".")
    wrong = [
        "", ".", head, f"{head}.", f"{head}.{pieces[0]}", token[:-1], token[:-5], f"{token}.", f"{token}.x",
        ".".join((head, pieces[0], pieces[2], pieces[1])), ".".join((head, pieces[0], *pieces[2:])),
        ".".join((head, *pieces, pieces[-1])), ".".join((head, pieces[0], others[2])),
        ".".join((others[0], *pieces)), ".".join((head, *others[1:])),
    ]  # fmt: skip
    draw = random.Random(1)
    for place in draw.sample(range(len(token)), 60):
        flipped = chr(ord(token[place]) ^ 1)
        wrong.append(token[:place] + flipped + token[place + 1 :])
    for each in wrong:
        if base64_of(each) == base64_of(token):  # the last character of a piece has bits of no byte
            continue
        with pytest.raises(ApiError) as refused:
            tokens.open(each, CLIENT)
        assert refused.value.code == "invalid_resume_token", each


def base64_of(token: str) -> list[bytes] | None:
    try:
        return [base64.urlsafe_b64decode(piece + "==") for piece in token.split(".")]
    except ValueError:
        return None


@pytest.mark.parametrize("client", ["", "key:bob", "key:ann ", "192.0.2.1"])
def test_a_token_is_of_use_to_its_client_alone(client: str) -> None:
    tokens, token = sealed()
    with pytest.raises(ApiError) as refused:
        tokens.open(token, client)
    assert refused.value.code == "invalid_resume_token"
    with pytest.raises(ApiError):
        ResumeTokens(b"another secret of other gateways", 300.0, lambda: 1000.0).open(token, CLIENT)


def test_a_token_ends() -> None:
    now = 1000.0
    tokens, token = sealed(lambda: now)
    now = 1300.0
    tokens.open(token, CLIENT)
    now = 1300.1
    with pytest.raises(ApiError) as refused:
        tokens.open(token, CLIENT)
    assert refused.value.code == "resume_token_expired"


def test_a_token_of_a_clock_that_was_years_ahead_does_not_last_for_years() -> None:
    now = 1e9
    tokens, token = sealed(lambda: now)
    now = 1000.0
    with pytest.raises(ApiError) as refused:
        tokens.open(token, CLIENT)
    assert refused.value.code == "resume_token_expired"
    now = 1e9 - 5  # another gateway's clock
    tokens.open(token, CLIENT)
