"""Clients that keep what a fault could spoil: when each chunk came, and whether every byte is right.

The synthetic model's clips are known beforehand (`SyntheticEngine.render`), so "right" means equal.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from benchmarks.chaos.fleet import Fault
from models.speech import SpeechRequest
from voxfleet.client import SpeechError, stream_speech
from worker.engines.synthetic import CHARACTERS_PER_SECOND, INFO, SyntheticEngine
from worker.kinds.speech import to_pcm

_IN_FLIGHT_SECONDS = 0.25
"""How long after a fault audio from before it may still arrive; a later silence has another cause."""


def text_of(number: int, patches: int) -> str:
    """A text of its own for each request, of so many patches."""
    characters = round(patches * INFO.patch_seconds * CHARACTERS_PER_SECOND)
    return f"{number:06d} ".ljust(characters, "a")


@dataclass
class Heard:
    """One request, as its client saw it. `error` is None when it was served to its end."""

    number: int
    text: str
    seed: int
    arrivals: list[float] = field(default_factory=list)
    """perf_counter of each chunk."""
    ending: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    model: str | None = None
    """None: the service's own choice."""
    reconnections: int = 0
    _digest: Any = field(default_factory=hashlib.blake2b)

    @property
    def request_id(self) -> str:
        return f"chaos-{self.number}"

    @property
    def migrations(self) -> int:
        return self.ending.get("migrations", 0)

    def take(self, pcm: bytes) -> None:
        self.arrivals.append(time.perf_counter())
        self._digest.update(pcm)

    @property
    def digest(self) -> bytes:
        """Of every byte."""
        return self._digest.digest()

    def is_right(self) -> bool:
        """Whether every byte is what the model owes."""
        audio, _ = SyntheticEngine.render(SpeechRequest("expected", self.text, self.seed))
        return hashlib.blake2b(to_pcm(audio)).digest() == self.digest


async def hear(url: str, heard: Heard) -> Heard:
    """One clip over a plain WebSocket."""
    address = url.replace("http", "ws", 1) + "/ws/tts"
    headers = {"X-Request-Id": heard.request_id}
    try:
        async with connect(
            address, additional_headers=headers, proxy=None, compression=None, max_size=None, close_timeout=1
        ) as socket:
            model = {} if heard.model is None else {"model": heard.model}
            await socket.send(json.dumps({"text": heard.text, "seed": heard.seed, **model}))
            async for message in socket:
                if isinstance(message, bytes):
                    heard.take(message)
                else:
                    heard.ending = json.loads(message)
    except (OSError, TimeoutError, ConnectionClosed, InvalidHandshake) as error:
        heard.error = f"{type(error).__name__}: {error}"
    if heard.error is None and heard.ending.get("type") != "done":
        heard.error = heard.ending.get("error", {}).get("code", "ended without a word")
    return heard


async def hear_resuming(urls: Sequence[str], heard: Heard) -> Heard:
    """One clip with the client that reconnects by itself."""
    try:
        async for item in stream_speech(urls, heard.text, seed=heard.seed):
            if isinstance(item, bytes):
                heard.take(item)
            else:
                heard.ending = item
                heard.reconnections += item["type"] == "reconnecting"
    except SpeechError as error:
        heard.error = error.code or str(error)
    return heard


async def load(
    urls: Sequence[str],
    count: int,
    concurrency: int,
    patches: int,
    seed: int,
    *,
    resume: bool = False,
    model: str | None = None,
) -> list[Heard]:
    """`count` requests from `concurrency` clients, which take the gateways in turn."""
    numbers = itertools.count()
    done: list[Heard] = []

    async def client(place: int) -> None:
        own = [*urls[place % len(urls) :], *urls[: place % len(urls)]]
        for number in numbers:
            if number >= count:
                return
            heard = Heard(number, text_of(number, patches), seed + number, model=model)
            done.append(await (hear_resuming(own, heard) if resume else hear(own[0], heard)))

    await asyncio.gather(*(client(place) for place in range(concurrency)))
    return done


def pauses(heard: Sequence[Heard], faults: Sequence[Fault]) -> list[float]:
    """Per stream that a fault hit: seconds from the fault to the first audio from another worker.

    Audio that was on its way when the worker died still arrives after the fault. What counts is the end of
    the longest silence that began when such audio could still arrive.
    """
    by_id = {one.request_id: one for one in heard}
    found = []
    for fault in faults:
        for request_id in fault.request_ids:
            one = by_id.get(request_id)
            if one is None or not one.migrations or not one.arrivals or one.arrivals[0] > fault.at:
                continue
            silences = [
                (end - begin, end)
                for begin, end in itertools.pairwise(one.arrivals)
                if end > fault.at and begin < fault.at + _IN_FLIGHT_SECONDS
            ]
            if silences:
                found.append(max(silences)[1] - fault.at)
    return found
