"""What can be said to the worker about the utterance that it speaks: rest, and go on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from gateway.workers.frame_stream import FrameStream, StreamBroken


class AtWork:
    """The attempt at an utterance that is going on, if there is one."""

    def __init__(self, confirmed: Callable[[bool], None]) -> None:
        """`confirmed` hears when the worker rests (True) or goes on."""
        self.begun = False
        self._confirmed = confirmed
        self._stream: FrameStream | None = None
        self._early: list[bool] = []
        """For a worker that has not answered yet."""
        self._asking: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """A new attempt begins."""
        self.begun = True

    def opened(self, stream: FrameStream) -> None:
        """The worker took the request."""
        self._stream = stream
        stream.on_pause = self._confirmed
        early, self._early = self._early, []
        for paused in early:
            self._send(paused)

    def part_ended(self) -> None:
        """The worker is done with the request; there may be another one."""
        self._stream = None

    def end(self) -> None:
        """The attempt is over."""
        self.begun = False
        self._stream = None
        self._early.clear()
        for asking in self._asking:
            asking.cancel()

    def ask(self, paused: bool) -> bool:
        """Have the worker rest or go on; False when none is at work."""
        if self._stream is not None:
            self._send(paused)
        elif self.begun:
            self._early.append(paused)
        return self.begun

    def _send(self, paused: bool) -> None:
        asking = asyncio.create_task(self._ask(self._stream, paused))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)

    async def _ask(self, stream: FrameStream, paused: bool) -> None:
        with contextlib.suppress(StreamBroken):  # the relay notices too, and does something about it
            await stream.pause(paused)
