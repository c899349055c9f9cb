"""Answers of a text model over `POST /v1/chat/completions`, whole or while they are written.

    stream = client.stream_chat("What is new in the harbour?", max_tokens=200)
    async for piece in stream:
        print(piece, end="")
    print(stream.answer.finish_reason)

A message may be a text, which the user says, or the list of a conversation:
[{"role": "user", "content": "..."}, ...].

An answer may be heard as well, and tell its place in line, with "speech": True where it waits to be spoken:

    stream = client.stream_chat(question, audio={"voice": "default"}, stream_options={"include_queue": True})
    async for item in stream:
        if isinstance(item, bytes):
            play(item)          # PCM, signed 16-bit little-endian, mono, at 24 kHz; or a file of its "format"
        elif isinstance(item, str):
            print(item, end="")
        else:
            print(item)         # {"type": "queued", "position": ..., "eta_seconds": ...}
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx

from voxfleet.client.errors import UnreachableError, error_from
from voxfleet.client.transport import Transport

CHAT_PATH = "/v1/chat/completions"
Messages = str | Sequence[Mapping[str, Any]]
ChatItem = str | bytes | dict[str, Any]
"""A piece of the text, the next bytes of the audio, or news: where it stands in line."""
Item = TypeVar("Item", bound=ChatItem, covariant=True)
PCM_RATE = 24_000
"""Samples per second of a spoken answer."""
_DATA = "data: "
_END = "[DONE]"


@dataclass(frozen=True)
class ChatAnswer:
    """An answer that is complete."""

    text: str
    finish_reason: str
    """"stop", or "length" where it was cut."""
    model: str
    seed: int
    """A request with this seed gets the same answer again."""
    prompt_tokens: int
    completion_tokens: int


def chat_request(messages: Messages, options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request for one answer as text. Raises ValueError for options that ask for others."""
    for name in ("stream", "n", "modalities"):
        if name in options:
            raise ValueError(f"{name} is no option: a chat gives one answer, as text")
    if "audio" in options:
        raise ValueError("audio is no option: an answer is heard while it is written, by stream_chat")
    said = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
    return {"messages": said, **options}


def whole_answer(response: httpx.Response) -> ChatAnswer:
    """The answer in a successful response."""
    content = response.json()
    choice = content["choices"][0]
    return _answer(choice["message"]["content"], choice["finish_reason"], content, response)


class ChatStream(Generic[Item]):
    """The pieces of an answer, for `async for`; leaving the loop and `aclose` give the rest up."""

    def __init__(
        self,
        transport: Transport,
        request: Mapping[str, Any],
        audio: Mapping[str, Any] | None = None,
        stream_options: Mapping[str, Any] | None = None,
    ) -> None:
        """`audio`: how it is spoken meanwhile, if it is."""
        told = {**(stream_options or {}), "include_usage": True}
        self._body = {**request, "stream": True, "stream_options": told}
        if audio is not None:
            self._body |= {"modalities": ["text", "audio"], "audio": {"format": "pcm16", **audio}}
        self._transport = transport
        self._pieces: AsyncGenerator[Item, None] = self._read()
        self.answer: ChatAnswer | None = None
        """The whole of it, once it is complete."""

    def __aiter__(self) -> AsyncGenerator[Item, None]:
        return self._pieces

    async def aclose(self) -> None:
        """Give up what is not read yet."""
        await self._pieces.aclose()

    async def _read(self) -> AsyncGenerator[Any, None]:
        """Raises SpeechError."""
        async with self._transport.stream("POST", CHAT_PATH, json=self._body) as response:
            async for item in self._take(response):
                yield item
        if self.answer is None:
            raise UnreachableError(f"the answer of {self._transport.url} ended before it was complete")

    async def _take(self, response: httpx.Response) -> AsyncGenerator[Any, None]:
        text, reason, about = "", "", {}
        async for line in response.aiter_lines():
            if not line.startswith(_DATA):
                continue
            data = line.removeprefix(_DATA)
            if data == _END:
                self.answer = _answer(text, reason, about, response)
                return
            about = json.loads(data)
            if "error" in about:
                raise error_from(about["error"], retry_after_seconds=about.get("retry_after_seconds"))
            if "queue" in about:
                yield {"type": "queued", **about["queue"]}
            for choice in about["choices"]:
                reason = choice["finish_reason"] or reason
                spoken = choice["delta"].get("audio", {})
                if piece := choice["delta"].get("content") or spoken.get("transcript"):
                    text += piece
                    yield piece
                if encoded := spoken.get("data"):
                    yield base64.b64decode(encoded)


def _answer(text: str, reason: str, about: Mapping[str, Any], response: httpx.Response) -> ChatAnswer:
    usage = about["usage"]
    return ChatAnswer(
        text=text,
        finish_reason=reason,
        model=about["model"],
        seed=int(response.headers["X-Seed"]),
        prompt_tokens=usage["prompt_tokens"],
        completion_tokens=usage["completion_tokens"],
    )
