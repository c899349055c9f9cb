"""A client of live sessions for end-to-end tests, and what the synthetic engine owes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import connect

from tests.e2e.processes import Server
from tests.gateway.stages.processes import Stream, eventually, pcm_of

SEED = 11
STORY = (
    "It was the best of times. It was the worst of times! Was it the age of wisdom? "
    "It was the age of foolishness, said Dr. Smith. It was the epoch of belief."
)
SENTENCES = (
    "It was the best of times. ",
    "It was the worst of times! ",
    "Was it the age of wisdom? ",
    "It was the age of foolishness, said Dr. Smith. ",
    "It was the epoch of belief.",
)
LONG = (
    "This one sentence is long enough to be interrupted somewhere in its middle, " * 4 + "and then it ends. "
)


class Live(Stream):
    """One session."""

    async def say(self, kind: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": kind, **fields}))

    async def receive_audio_bytes(self, count: int) -> None:
        """Until so many bytes of PCM are there."""
        while len(self.pcm) < count:
            await self.receive()

    def of_epoch(self, epoch: int) -> list[dict[str, Any]]:
        return [message for message in self.messages if message.get("epoch") == epoch]


@asynccontextmanager
async def session(edge: Server, **start: Any) -> AsyncIterator[Live]:
    url = edge.url.replace("http", "ws", 1) + "/ws/live"
    async with connect(url, proxy=None, max_size=None, close_timeout=1) as socket:
        live = Live(socket)
        await live.say("start", **{"seed": SEED, **start})
        yield live


def owed(*texts: str) -> bytes:
    return b"".join(pcm_of(text, SEED) for text in texts)


async def running(edge: Server) -> list[dict[str, Any]]:
    return (await asyncio.to_thread(edge.get_json, "/api/queue"))["running"]


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Ask until it is so."""
    await eventually(lambda: _true_or_none(condition), "it is not so")


async def _true_or_none(condition: Callable[[], Awaitable[bool]]) -> bool | None:
    return True if await condition() else None
