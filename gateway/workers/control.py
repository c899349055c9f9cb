"""Control of one worker over HTTP: how it is, what it is to do, what it makes of recordings and adapters.

A worker is believed within bounds: its answers are read up to a limit, as they are sent, and its redirects
not followed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from gateway.bodies import MOST_MESSAGE_VALUES, has_too_many_values
from gateway.settings import GatewaySettings
from gateway.workers.frame_stream import NO_SLOT, RequestRejected, WorkerRefused, WorkerUnreachable
from gateway.workers.http import pieces_of
from gateway.workers.whereabouts import NoAddressError, NotAllowedError, Whereabouts
from worker.protocol import (
    ADAPTERS_PATH,
    MAX_REQUEST_BYTES,
    MAX_STATUS_BYTES,
    AdapterDescription,
    EncodeResponse,
    ErrorCode,
    ErrorDetail,
    WorkerStatus,
)

ENCODE_SECONDS = 60.0
"""Bound of encoding a minute of audio, which a large model on a CPU takes its time for."""
ADAPTER_SECONDS = 60.0
"""Bound of sending an adapter and of putting it in form."""

Answer = TypeVar("Answer", bound=BaseModel)


class WorkerControl:
    """What is asked of the worker beside requests."""

    def __init__(self, settings: GatewaySettings, http: httpx.AsyncClient, whereabouts: Whereabouts) -> None:
        self._settings = settings
        self._http = http
        self._whereabouts = whereabouts
        self._bounds: set[asyncio.Timeout] = set()
        """Of what the worker is asked now."""
        self.times_lost = 0
        """How often it was given up."""

    def give_up(self) -> None:
        """The worker counts as down: what it is asked ends now with WorkerUnreachable, not at its bound."""
        self.times_lost += 1
        now = asyncio.get_running_loop().time()
        for bound in self._bounds:
            if not bound.expired():
                bound.reschedule(now)

    async def status(self) -> WorkerStatus:
        """`GET /health`. Raises WorkerUnreachable."""
        return await self._control("GET", "/health")

    async def drain(self) -> WorkerStatus:
        """Let open requests finish and refuse new ones. Raises WorkerUnreachable."""
        return await self._control("POST", "/drain")

    async def resume(self) -> WorkerStatus:
        """Undo `drain`. Raises WorkerUnreachable."""
        return await self._control("POST", "/resume")

    async def shut_down(self, wait_seconds: float) -> WorkerStatus:
        """Let open requests finish for so long, and have the process end. Raises WorkerUnreachable."""
        return await self._control("POST", f"/shutdown?wait_seconds={wait_seconds:g}")

    async def encode(self, audio: bytes, role: Literal["reference", "prompt"]) -> EncodeResponse:
        """`POST /encode` of an audio file. Raises WorkerUnreachable, WorkerRefused, RequestRejected."""
        is_success, answer = await self._ask(
            *("POST", f"/encode?role={role}", ENCODE_SECONDS, MAX_REQUEST_BYTES), content=audio
        )
        return self._agreed(EncodeResponse, is_success, answer)

    async def send_adapter(self, body: bytes, digest: str) -> AdapterDescription:
        """`POST /adapters` of what `pack_adapter` made; `digest`: by which requests will name it.

        Raises WorkerUnreachable, WorkerRefused, RequestRejected.
        """
        path = f"{ADAPTERS_PATH}?digest={digest}"
        is_success, answer = await self._ask("POST", path, ADAPTER_SECONDS, MAX_STATUS_BYTES, content=body)
        return self._agreed(AdapterDescription, is_success, answer)

    @staticmethod
    def _agreed(kind: type[Answer], is_success: bool, answer: bytes) -> Answer:
        """The worker's answer. Raises WorkerUnreachable, WorkerRefused, RequestRejected."""
        try:
            if has_too_many_values(answer, MOST_MESSAGE_VALUES):
                raise ValueError("pydantic copies all of them for each field that is missing")
            if is_success:
                return kind.model_validate_json(answer)
            detail = ErrorDetail.model_validate(json.loads(answer)["error"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise WorkerUnreachable("not a worker's answer") from error
        if detail.code in NO_SLOT:
            raise WorkerRefused(detail.message)
        if detail.type == "invalid_request_error" and detail.code != ErrorCode.SLOW_SENDER:
            raise RequestRejected(detail)
        raise WorkerUnreachable(detail.message)

    async def _control(self, method: str, path: str) -> WorkerStatus:
        limit_seconds = self._settings.health_timeout_seconds
        is_success, answer = await self._ask(method, path, limit_seconds, MAX_STATUS_BYTES)
        if not is_success:
            raise WorkerUnreachable("the worker answers with an error")
        try:
            told = json.loads(answer)
            if isinstance(told, dict) and told.keys() == {"state"}:  # what it tells strangers
                raise WorkerUnreachable("the worker has another secret (VOXFLEET_WORKER_SECRET)")
            return WorkerStatus.model_validate(told)  # from JSON, errors have copies of it
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise WorkerUnreachable(f"not a worker's status: {field}: {first['msg']}") from error
        except (ValueError, RecursionError) as error:
            raise WorkerUnreachable("not a worker's status: it is not JSON") from error

    @asynccontextmanager
    async def _bounded(self, seconds: float) -> AsyncIterator[None]:
        """For so long, or until the worker is given up. Raises TimeoutError."""
        async with asyncio.timeout(seconds) as bound:
            self._bounds.add(bound)
            try:
                yield
            finally:
                self._bounds.discard(bound)

    async def _ask(
        self, method: str, path: str, limit_seconds: float, max_bytes: int, content: bytes | None = None
    ) -> tuple[bool, bytes]:
        """Whether the worker agreed, and its answer of `max_bytes` at most. Raises WorkerUnreachable."""
        try:
            async with self._bounded(limit_seconds):
                where = await self._whereabouts.endpoint()
                request = self._http.build_request(
                    method,
                    where.url + path,
                    content=content,
                    headers={**self._whereabouts.headers, "Host": where.host, "Accept-Encoding": "identity"},
                    timeout=None,
                    extensions={"sni_hostname": where.name},
                )
                response = await self._http.send(request, stream=True, follow_redirects=False)
                self._whereabouts.answered(where)
                try:
                    return response.is_success, await _read(response, max_bytes)
                finally:
                    await response.aclose()
        except (NotAllowedError, NoAddressError) as error:
            raise WorkerUnreachable(str(error)) from error
        except (httpx.HTTPError, TimeoutError) as error:
            self._whereabouts.look_again()
            raise WorkerUnreachable.by(error) from error


async def _read(response: httpx.Response, max_bytes: int) -> bytes:
    """The body as it was sent: nothing is unpacked. Raises WorkerUnreachable for one that is too long."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise WorkerUnreachable("the worker packs its answer, which it was asked not to do")
    body = bytearray()
    async for piece in pieces_of(response):
        body += piece
        if len(body) > max_bytes:
            raise WorkerUnreachable(f"the worker's answer has more than {max_bytes} bytes")
    return bytes(body)
