"""`POST /tts/bytes`, a file that comes while it is generated, and `POST /tts/sse`, the same as events."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from gateway.errors import ApiError
from gateway.protocols.cartesia import errors
from gateway.protocols.cartesia.errors import VERSION_HEADER
from gateway.protocols.cartesia.events import Messages
from gateway.protocols.cartesia.request import CARTESIA, Generation
from gateway.protocols.response import Framing, SpeechResponse
from gateway.requests import check_limits
from gateway.service import GatewayDep
from gateway.synthesis.synthesis import Outcome
from gateway.timing.part import PartTimes


class _JsonUnsaid(APIRoute):
    """A route to which a body of Cartesia's clients is JSON, also where they do not say so: LiveKit's plugin
    for Node.js does not. Browsers send their header for no page without asking first.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As for any route."""
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            if VERSION_HEADER in request.headers and "content-type" not in request.headers:
                headers = [*request.scope["headers"], (b"content-type", b"application/json")]
                request = Request({**request.scope, "headers": headers}, request.receive)
            return await handle(request)

        return handle_json


router = APIRouter(route_class=_JsonUnsaid)


@router.post("/tts/bytes", response_class=Response)
async def speak(order: Generation, request: Request, gateway: GatewayDep) -> Response:
    """The file, or raw samples."""
    translated = await order.to_tts_request(gateway)
    check_limits(translated, gateway.settings, "transcript")
    return SpeechResponse(request, gateway, translated, CARTESIA, order.ignored)


@router.post("/tts/sse", response_class=Response)
async def speak_in_events(order: Generation, request: Request, gateway: GatewayDep) -> Response:
    """Raw samples in base64, with the times of words where they are asked for."""
    order.check_raw()
    translated = await order.to_tts_request(gateway)
    check_limits(translated, gateway.settings, "transcript")
    framing = Events(Messages(order.context_id), request.state.request_id, order.context_id)
    return SpeechResponse(request, gateway, translated, CARTESIA, order.ignored, framing)


class Events(Framing):
    """Server-sent events."""

    media_type = "text/event-stream"

    def __init__(self, messages: Messages, request_id: str, context_id: str | None) -> None:
        self._messages = messages
        self._request_id = request_id
        self._context_id = context_id

    def timed(self, part: PartTimes) -> str:
        """The words of a part."""
        return _events(self._messages.timestamps(part)).decode()

    def audio(self, data: bytes) -> bytes:
        """The next samples."""
        return _events(self._messages.chunk(data))

    def end(self, outcome: Outcome, characters: int) -> bytes:
        """The end."""
        return _events(self._messages.done())

    def broken(self, error: ApiError) -> bytes:
        """What went wrong."""
        return _events(errors.message(error, self._request_id, self._context_id))


def _events(*messages: dict[str, Any]) -> bytes:
    return b"".join(
        f"event: {message['type']}\ndata: {json.dumps(message, separators=(',', ':'))}\n\n".encode()
        for message in messages
    )
