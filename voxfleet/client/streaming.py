"""One clip over the streaming API, `WS /ws/tts`, that outlives connections and gateways.

    async for item in stream_speech("http://127.0.0.1:8006", "Hello.", voice="default", seed=7):
        if isinstance(item, bytes):
            play(item)          # PCM, signed 16-bit little-endian, mono, at the rate "started" named
        else:
            print(item["type"])  # queued, queue_update, started, reconnecting, resumed, done

When the connection breaks or the gateway ends, it goes on with the next of the addresses given (or the same
one again) from the sample where it stopped; the caller gets one clip without a gap or a repetition. Leaving
the loop early closes the socket, which cancels the request on the server.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from voxfleet.client.connection import base_urls, open_socket
from voxfleet.client.errors import SpeechError, UnreachableError, error_from, error_from_answer

PATIENCE_SECONDS = 30.0
_SAMPLE_BYTES = 2
_TOKEN_PART = 60_000
_PARTS_AT_ONCE = 10
_PART_PAUSE_SECONDS = 0.07
"""Beyond the first, parts of a long token are sent no faster than gateways take messages."""
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 2.0


class _ConnectionLost(Exception):
    """This connection is over, and another may bring the rest. `error` is for when none does."""

    def __init__(self, error: SpeechError, retry_after_seconds: float = 0.0) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after_seconds = retry_after_seconds


async def stream_speech(
    base_url: str | Sequence[str],
    text: str,
    *,
    resume: bool = True,
    patience_seconds: float = PATIENCE_SECONDS,
    api_key: str | None = None,
    key_in_subprotocol: bool = False,
    **options: Any,
) -> AsyncGenerator[dict[str, Any] | bytes, None]:
    """Yields the server's messages as dicts and the audio as bytes; ends after "done". Raises SpeechError,
    and ValueError for what is no address.

    `options` are the other fields of a request, such as `voice`, `seed` and `cfg_value`. With `resume`, a
    break is bridged for up to `patience_seconds`, but for a clip that has not the model's own rate and speed.
    """
    urls = base_urls(base_url)
    resume = resume and _can_be_resumed(text, **options)
    clip = _Clip({"text": text, "format": "pcm", **options}, resume)
    pauses = _Pauses(len(urls), patience_seconds)
    for url in itertools.cycle(urls):
        try:
            async with aclosing(_hear(url, clip, api_key, key_in_subprotocol)) as items:
                async for item in items:
                    if isinstance(item, bytes):
                        pauses.reset()
                    yield item
            return
        except _ConnectionLost as lost:
            if not resume:
                raise lost.error from lost
            pause_seconds = pauses.next(lost, was_reached=clip.was_sent)
            yield {"type": "reconnecting", "reason": str(lost), "pause_seconds": pause_seconds}
        await asyncio.sleep(pause_seconds)


def _can_be_resumed(
    text: str, *, sample_rate: Any = None, speed: Any = 1, input_type: Any = "text", **others: Any
) -> bool:
    """Whether it has the model's own rate and speed; gateways refuse to make others so that they can be."""
    return sample_rate is None and speed == 1 and not (input_type == "ssml" and "<prosody" in text)


class _Clip:
    """What was asked for and what has come of it."""

    def __init__(self, request: dict[str, Any], resume: bool) -> None:
        self._request = request
        self._token = ""
        self._samples = 0
        self._repeated_bytes = 0
        """Audio that comes a second time and is dropped."""
        self._started = False
        self.was_sent = False
        """Some gateway got the request."""
        if resume:
            # The same words with another seed would be another clip.
            self._request = {"seed": random.randrange(2**32), **request, "resume": True}

    async def ask(self, socket: ClientConnection) -> None:
        """Send what makes the server speak the rest."""
        self.was_sent = True
        self._repeated_bytes = _SAMPLE_BYTES * self._samples
        if not self._token:
            await socket.send(json.dumps(self._request))
            return
        starts = range(0, len(self._token), _TOKEN_PART)
        for number, start in enumerate(starts):
            if number >= _PARTS_AT_ONCE:
                await asyncio.sleep(_PART_PAUSE_SECONDS)
            part = self._token[start : start + _TOKEN_PART]
            await socket.send(json.dumps({"resume_token": part, "more": start != starts[-1]}))

    def take(self, message: str | bytes) -> dict[str, Any] | bytes | None:
        """What the caller gets of a message. Raises SpeechError, _ConnectionLost."""
        if isinstance(message, bytes):
            return self._take_audio(message)
        item = json.loads(message)
        kind = item.get("type")
        if kind == "error":
            raise self._failure(item)
        if kind == "resume_token":
            self._token = self._token[: item.get("keep")] + item["token"]
            return None
        if kind == "started":
            self._repeated_bytes -= _SAMPLE_BYTES * item.get("resumed_at_sample", 0)
            if self._started:
                return item | {"type": "resumed"}
            self._started = True
        return item

    def _take_audio(self, pcm: bytes) -> bytes | None:
        repeated = min(self._repeated_bytes, len(pcm))
        self._repeated_bytes -= repeated
        self._samples += (len(pcm) - repeated) // _SAMPLE_BYTES
        return pcm[repeated:] or None

    def _failure(self, item: dict[str, Any]) -> Exception:
        """An ending gateway is one to leave; a busy one is waited for by a clip that was begun."""
        detail = item["error"]
        error = error_from(detail, retry_after_seconds=item.get("retry_after_seconds"))
        if error.code == "shutting_down" or (self._samples and detail.get("type") == "capacity_error"):
            return _ConnectionLost(error, item.get("retry_after_seconds", 0.0))
        return error


class _Pauses:
    """How long to wait before the next connection, and when to give up."""

    def __init__(self, gateways: int, patience_seconds: float) -> None:
        self._gateways = gateways
        self._patience_seconds = patience_seconds
        self._losses = 0
        self._lost_at = 0.0

    def reset(self) -> None:
        """Audio came: breaks are counted anew."""
        self._losses = 0

    def next(self, lost: _ConnectionLost, was_reached: bool) -> float:
        """Seconds; none before every gateway was tried once. Raises SpeechError when patience is over.

        There is none for gateways of which not one was ever reached: their address is wrong.
        """
        now = time.monotonic()
        if not self._losses:
            self._lost_at = now
        rounds, tried = divmod(self._losses, self._gateways)
        self._losses += 1
        if now - self._lost_at > self._patience_seconds or (not was_reached and tried == self._gateways - 1):
            raise lost.error from lost
        if self._gateways > 1 and tried != self._gateways - 1:
            return 0.0
        pause_seconds = min(_FIRST_PAUSE_SECONDS * 2 ** min(rounds, 10), _LONGEST_PAUSE_SECONDS)
        pause_seconds = max(pause_seconds, min(lost.retry_after_seconds, _LONGEST_PAUSE_SECONDS))
        return pause_seconds * random.uniform(0.5, 1.0)


async def _hear(
    url: str, clip: _Clip, api_key: str | None, key_in_subprotocol: bool
) -> AsyncGenerator[dict[str, Any] | bytes, None]:
    """One connection, to its "done". Raises SpeechError, _ConnectionLost."""
    try:
        async with open_socket(url, "/ws/tts", api_key, key_in_subprotocol) as socket:
            with suppress(ConnectionClosed):  # refused by the head: the reason is read below
                await clip.ask(socket)
            async for message in socket:
                item = clip.take(message)
                if item is not None:
                    yield item
                if isinstance(item, dict) and item.get("type") == "done":
                    return
    except InvalidStatus as error:
        answer = error.response
        told = error_from_answer(url, answer.status_code, answer.body or b"", answer.headers)
        if answer.status_code < 500:
            raise told from error
        raise _ConnectionLost(told, told.retry_after_seconds or 0.0) from error
    except (OSError, TimeoutError, InvalidHandshake) as error:
        raise _ConnectionLost(UnreachableError(f"cannot reach {url}: {error}")) from error
    except ConnectionClosed as error:
        raise _ConnectionLost(UnreachableError(f"the server closed the stream: {error}")) from error
    raise _ConnectionLost(UnreachableError("the server ended the stream without saying that it is done"))
