"""Talking with workers about slots: nothing that a worker says there does harm, and an old one is used."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response

from gateway.service import Gateway
from gateway.slots.capacity.worker import Worker
from gateway.workers import slot_watch
from tests.gateway.sessions.recordings import until
from tests.gateway.stages.fleet import ANY
from tests.gateway.stages.processes import eventually
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import CLIP, Ear, gateway_of, speak
from worker.protocol import GATEWAY_HEADER, SLOTS_PATH


@dataclass
class Talkative(ScriptedWorker):
    """Says about its slots what a test wants, and remembers what it was told."""

    heard: list[dict[str, Any]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    talks: list[ServerConnection] = field(default_factory=list)

    def _health(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.path == SLOTS_PATH:
            self.names.append(request.headers[GATEWAY_HEADER])
            return None
        return super()._health(connection, request)

    async def _connection(self, socket: ServerConnection) -> None:
        if socket.request.path != SLOTS_PATH:
            await super()._connection(socket)
            return
        self.talks.append(socket)
        async for message in socket:
            self.heard.append(json.loads(message))

    async def say(self, message: str | bytes | dict[str, Any]) -> None:
        await self.talks[-1].send(json.dumps(message) if isinstance(message, dict) else message)

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.heard if message["type"] == kind]


@asynccontextmanager
async def talking(part_characters: int | None = None) -> AsyncIterator[tuple[Gateway, Talkative, Worker]]:
    talkative = Talkative([Act()], slots=1, part_characters=part_characters)
    async with gateway_of(talkative) as gateway:
        (worker,) = gateway.pool.workers.values()
        await until(lambda: worker.sharing.open)
        yield gateway, talkative, worker


async def test_a_worker_of_an_older_version_is_used_without() -> None:
    async with gateway_of(ScriptedWorker([Act()])) as gateway:
        (worker,) = gateway.pool.workers.values()
        ear = Ear()
        await speak(gateway, ear)
        assert ear.pcm == CLIP and not worker.sharing.open


async def test_a_request_waits_for_its_grant_and_says_by_which_right_it_came() -> None:
    async with talking() as (gateway, talkative, worker):
        await talkative.say({"type": "standing", "others": 0, "waiting": 1})
        await until(lambda: worker.sharing.waiting == 1)
        ear = Ear()
        speaking = asyncio.create_task(speak(gateway, ear))
        await until(lambda: {"type": "waiting", "requests": 1} in talkative.heard)
        assert not talkative.requests
        await talkative.say({"type": "grant", "number": 9})
        await speaking
        assert ear.pcm == CLIP
        (request,) = talkative.requests
        assert request.claim.grant == 9 and not request.claim.keep
        await until(lambda: talkative.told("waiting")[-1]["requests"] == 0)
        assert set(talkative.names) == {talkative.names[0]}


async def test_a_clip_in_parts_keeps_its_slot_but_for_the_last() -> None:
    async with talking(part_characters=40) as (gateway, talkative, _):
        text = "This is the first sentence of some. Here is the second one. And that was the third one."
        await speak(gateway, Ear(), text)
        claims = [request.claim for request in talkative.requests]
        assert len(claims) > 1 and len({claim.lease for claim in claims}) == 1
        assert [claim.keep for claim in claims] == [True] * (len(claims) - 1) + [False]
        await until(lambda: {"type": "give_back", "lease": claims[0].lease} in talkative.heard)


async def test_what_waits_is_said_again_in_case_it_was_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_watch, "_ASK_AGAIN_SECONDS", 0.01)
    async with talking() as (gateway, talkative, worker):
        await talkative.say({"type": "standing", "others": 1, "waiting": 0})
        await until(lambda: worker.sharing.others == 1)
        with gateway.pool.admit("r", ANY):
            await until(lambda: len(talkative.told("waiting")) > 3)


@pytest.mark.parametrize(
    "words",
    [
        "no json",
        b"\x00\x01",
        "{}",
        '{"type":"standing","others":-1,"waiting":0}',
        '{"type":"standing","others":20000000,"waiting":0}',
        '{"type":"standing","others":1,"waiting":1e400}',
        '{"type":"grant","number":"1"}',
        '{"type":"standing","others":1,"waiting":1,"padding":"' + "a" * 5000 + '"}',
    ],
)
async def test_a_worker_that_says_nonsense_is_not_listened_to(words: str | bytes) -> None:
    async with talking() as (gateway, talkative, worker):
        await talkative.say({"type": "standing", "others": 1, "waiting": 1})
        await until(lambda: worker.sharing.others == 1)
        await talkative.say(words)
        await until(lambda: not worker.sharing.open)
        assert (worker.sharing.others, worker.sharing.waiting) == (0, 0)
        ear = Ear()
        await speak(gateway, ear)
        assert ear.pcm == CLIP


async def test_a_flood_of_words_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two messages everything else has its turn."""
    turns, turns_at = 0, []

    def take_turn() -> None:
        nonlocal turns
        turns += 1
        asyncio.get_running_loop().call_soon(take_turn)

    async with talking() as (_, talkative, worker):
        monkeypatch.setattr(worker.sharing, "stood", lambda others, waiting: turns_at.append(turns))
        asyncio.get_running_loop().call_soon(take_turn)
        words = json.dumps({"type": "standing", "others": 0, "waiting": 1}).encode()
        talkative.talks[-1].transport.write(500 * Frame(Opcode.TEXT, words).serialize(mask=False))
        await until(lambda: len(turns_at) == 500)
    assert len(set(turns_at)) == 500


async def test_grants_without_end_and_without_need_are_given_back() -> None:
    async with talking() as (_, talkative, worker):
        for number in range(1, 200):
            await talkative.say({"type": "grant", "number": number})
        await until(lambda: len(talkative.told("give_back")) == 199)
        assert worker.sharing.room(1) == 1


async def test_a_socket_that_was_lost_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_watch, "_RETRY_SECONDS", 0.01)
    async with talking() as (gateway, talkative, worker):
        await talkative.say({"type": "standing", "others": 1, "waiting": 1})
        await until(lambda: worker.sharing.others == 1)
        ear = Ear()
        speaking = asyncio.create_task(speak(gateway, ear))
        await until(lambda: bool(talkative.told("waiting")))
        talkative.talks[0].transport.abort()
        await speaking
        assert ear.pcm == CLIP, "nothing is known of others any more"

        async def again() -> bool | None:
            return True if len(talkative.talks) == 2 and worker.sharing.open else None

        await eventually(again, "the socket was not opened again")
