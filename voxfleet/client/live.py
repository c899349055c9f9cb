"""A live session, `WS /ws/live`: text is appended while its audio comes.

async with client.live(voice="default") as session:
    await session.append("It is late. ")
    await session.stop()
    async for item in session:      # the server's messages as dicts, audio as bytes
        ...
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, Self

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from voxfleet.client.connection import open_socket
from voxfleet.client.errors import SpeechError, UnreachableError, error_from, error_from_answer

_SAMPLE_BYTES = 2


class LiveSession:
    """One session, open for as long as its `async with` block lasts. Leaving the block ends it."""

    def __init__(
        self,
        base_url: str,
        options: dict[str, Any],
        api_key: str | None = None,
        key_in_subprotocol: bool = False,
    ) -> None:
        """`options`: the fields of "start", such as `voice`, `seed` and `record`."""
        self._base_url = base_url
        self._opening = open_socket(base_url, "/ws/live", api_key, key_in_subprotocol)
        self._options = options
        self._socket: ClientConnection | None = None
        self._cancels = 0
        """Cancels that the server has not confirmed yet; audio that comes meanwhile is of before."""
        self.sample_rate: int | None = None
        """Samples per second of the audio; known from "started" on."""
        self.session_id: str | None = None
        """The id of the recording, if there is one."""
        self.received_samples = 0
        """Position in all audio of the session, that of cancelled text included."""

    async def __aenter__(self) -> Self:
        try:
            self._socket = await self._opening
        except InvalidStatus as error:
            answer = error.response
            raise error_from_answer(
                self._base_url, answer.status_code, answer.body or b"", answer.headers
            ) from error
        except (OSError, TimeoutError, InvalidHandshake) as error:
            raise UnreachableError(f"cannot reach {self._base_url}: {error}") from error
        with suppress(UnreachableError):  # refused already: the iterator says why
            await self._send("start", **self._options)
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._opened.close()

    @property
    def _opened(self) -> ClientConnection:
        if self._socket is None:
            raise RuntimeError("a live session begins with `async with`, of `Client` with `with`")
        return self._socket

    async def append(self, text: str) -> None:
        """Add to the text. Sentences start as soon as they are complete."""
        await self._send("append", text=text)

    async def flush(self) -> None:
        """Speak an incomplete sentence, too."""
        await self._send("flush")

    async def cancel(self, played_samples: int) -> None:
        """Barge-in: nothing more of what was appended; `played_samples` of the session were heard.

        No audio of before comes out of the iterator any more; "cancelled" says what was spoken.
        """
        self._cancels += 1
        await self._send("cancel", played_samples=played_samples)

    async def pause(self) -> None:
        """Pause, up to the limit that "paused" names."""
        await self._send("pause")

    async def resume(self) -> None:
        """Go on after a pause."""
        await self._send("resume")

    async def stop(self) -> None:
        """Speak what is appended, then end with "done"."""
        await self._send("stop")

    async def report(self, *, underruns: int, played_samples: int, buffered_ms: float) -> None:
        """Tell how playback goes: totals so far, and the audio that lies ready."""
        await self._send("stats", underruns=underruns, played_samples=played_samples, buffered_ms=buffered_ms)

    async def __aiter__(self) -> AsyncGenerator[dict[str, Any] | bytes, None]:
        """Messages and audio, to "done"; an "error" that is not fatal is a message. Raises SpeechError."""
        try:
            async for message in self._opened:
                if isinstance(message, bytes):
                    self.received_samples += len(message) // _SAMPLE_BYTES
                    if not self._cancels:
                        yield message
                    continue
                item = self._hear(json.loads(message))
                yield item
                if item["type"] == "done":
                    return
        except ConnectionClosed as error:
            raise UnreachableError(f"the session broke off: {error}") from error
        raise UnreachableError("the server ended the session without saying that it is done")

    def _hear(self, item: dict[str, Any]) -> dict[str, Any]:
        kind = item.get("type")
        if kind == "error" and item.get("fatal", True):
            raise self._failure(item)
        if kind == "started":
            self.sample_rate, self.session_id = item["sample_rate"], item.get("session_id")
        if kind == "cancelled":
            self._cancels = max(self._cancels - 1, 0)
        return item

    def _failure(self, item: dict[str, Any]) -> SpeechError:
        return error_from(item["error"], retry_after_seconds=item.get("retry_after_seconds"))

    async def _send(self, kind: str, **fields: Any) -> None:
        """Raises UnreachableError once the session is over; the iterator then says why."""
        try:
            await self._opened.send(json.dumps({"type": kind, **fields}))
        except ConnectionClosed as error:
            raise UnreachableError(f"the session is over: {error}") from error
