"""The far end of a live session, and what it is owed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gateway.live.messages import Start
from gateway.live.session.session import LiveSession
from gateway.live.speech.speech import LiveSpeech
from gateway.live.speech.witness import LiveWitness
from gateway.service import Gateway
from gateway.slots.line.standing import Standing
from gateway.timing.part import PartTimes
from tests.gateway.stages.processes import pcm_of

SENTENCES = ("This is the first sentence. ", "Here is the second one. ", "And that was the third.")


class Client:
    """The far end of a session."""

    def __init__(self, gateway: Gateway, **start: Any) -> None:
        self.messages: list[dict[str, Any]] = []
        self.pcm = b""
        self.session = LiveSession(gateway.settings, self)
        options = Start(type="start", **{"seed": 7, **start})
        self.speech = LiveSpeech(gateway, self.session, options, "r1", Standing(), LiveWitness(None))
        self.session.voice = self.speech
        self.on_audio = asyncio.Event()

    def tell(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    def audio(self, pcm: bytes) -> None:
        self.pcm += pcm
        self.on_audio.set()

    def drop_audio(self) -> int:
        return 0

    def timed(self, index: int, epoch: int, part: PartTimes) -> None:
        self.messages.append({"type": "timestamps", "index": index, "epoch": epoch, "part": part})

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["type"] == kind]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The session runs; at the end of the block it is over, or will never be."""
        task = asyncio.create_task(self.speech.run())
        try:
            yield
            async with asyncio.timeout(60):
                await task
        finally:
            task.cancel()

    async def say_all(self, *texts: str) -> None:
        async with self.running():
            for text in texts:
                self.session.append(text)
            self.session.stop()


def owed(*texts: str, seed: int = 7) -> bytes:
    return b"".join(pcm_of(text, seed) for text in texts)
