"""Requests to one gateway: with the API key, on one event loop, and with its errors as exceptions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from sockets.authorities import authorities
from voxfleet.client.connection import key_headers
from voxfleet.client.errors import error_from_answer, from_gateway, unreachable
from voxfleet.client.forms import as_sent
from voxfleet.client.repeats import sent_once

_CONNECT_SECONDS = 5.0


class Transport:
    """It belongs to the event loop that it was used on first."""

    def __init__(self, url: str, api_key: str | None, timeout_seconds: float) -> None:
        """Raises ValueError for a key that no header can carry."""
        self.url = url
        self._http = httpx.AsyncClient(
            base_url=url,
            headers=key_headers(api_key),
            timeout=httpx.Timeout(timeout_seconds, connect=_CONNECT_SECONDS),
            trust_env=False,
            verify=authorities(),
            event_hooks={"request": [self._stay_on_one_loop]},
        )
        self._loop: asyncio.AbstractEventLoop | None = None

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def call(self, method: str, path: str, *, once: bool = False, **options: Any) -> httpx.Response:
        """A successful answer. `once`: to what makes something. Raises SpeechError."""

        async def send(**headers: Any) -> httpx.Response:
            return await self._http.request(method, path, **as_sent(options | headers))

        try:
            answer = await (sent_once(send) if once else send())
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error
        if not from_gateway(answer):
            raise error_from_answer(self.url, answer.status_code, answer.content, answer.headers)
        return answer

    @asynccontextmanager
    async def stream(self, method: str, path: str, **options: Any) -> AsyncGenerator[httpx.Response, None]:
        """A successful answer that is read as it comes. Raises SpeechError, while it is read, too."""
        try:
            async with self._http.stream(method, path, **as_sent(options)) as answer:
                if not from_gateway(answer):
                    content = await answer.aread()
                    raise error_from_answer(self.url, answer.status_code, content, answer.headers)
                yield answer
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error

    async def _stay_on_one_loop(self, request: httpx.Request) -> None:
        """Connections that wait for the next request are of one. Raises RuntimeError."""
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise RuntimeError("the client was used on another event loop: make one on each, or use `Client`")
