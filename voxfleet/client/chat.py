"""Answers of a text model over `POST /v1/chat/completions`, whole or while they are written.

    stream = client.stream_chat("What is new in the harbour?", max_tokens=200)
    async for piece in stream:
        print(piece, end="")
    print(stream.answer.finish_reason)

A message may be a text, which the user says, or the list of a conversation:
[{"role": "user", "content": "..."}, ...].
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from voxfleet.client.errors import UnreachableError, error_from
from voxfleet.client.transport import Transport

CHAT_PATH = "/v1/chat/completions"
Messages = str | Sequence[Mapping[str, Any]]
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
    """The same request with it gets the same answer."""
    prompt_tokens: int
    completion_tokens: int


def chat_request(messages: Messages, options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request for one answer as text. Raises ValueError for options that ask for others."""
    for name in ("stream", "n", "modalities"):
        if name in options:
            raise ValueError(f"{name} is no option: a chat gives one answer, as text")
    said = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
    return {"messages": said, **options}


def whole_answer(response: httpx.Response) -> ChatAnswer:
    """What a successful response says."""
    content = response.json()
    choice = content["choices"][0]
    return _answer(choice["message"]["content"], choice["finish_reason"], content, response)


class ChatStream:
    """The pieces of an answer, for `async for`; leaving the loop and `aclose` give the rest up."""

    def __init__(self, transport: Transport, request: Mapping[str, Any]) -> None:
        options = {"include_usage": True}
        self._body = {**request, "stream": True, "stream_options": options}
        self._transport = transport
        self._pieces = self._read()
        self.answer: ChatAnswer | None = None
        """The whole of it, once it is complete."""

    def __aiter__(self) -> AsyncGenerator[str, None]:
        return self._pieces

    async def aclose(self) -> None:
        """Give up what is not read yet."""
        await self._pieces.aclose()

    async def _read(self) -> AsyncGenerator[str, None]:
        """Raises SpeechError."""
        async with self._transport.stream("POST", CHAT_PATH, json=self._body) as response:
            async for piece in self._take(response):
                yield piece
        if self.answer is None:
            raise UnreachableError(f"the answer of {self._transport.url} ended before it was complete")

    async def _take(self, response: httpx.Response) -> AsyncGenerator[str, None]:
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
                raise error_from(about["error"])
            for choice in about["choices"]:
                reason = choice["finish_reason"] or reason
                if piece := choice["delta"].get("content"):
                    text += piece
                    yield piece


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
