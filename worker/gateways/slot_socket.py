"""`WS /ws/slots`: a gateway says how many requests wait, and hears of grants and of the other gateways.

The gateway's turns, grants and kept slots last as long as the socket, so a gateway that dies loses them at
once, and one whose computer is gone loses them when it leaves a ping unanswered.
"""

from __future__ import annotations

import asyncio
import re

import structlog
from starlette.websockets import WebSocket, WebSocketDisconnect

from sockets.outbox import Outbox, UnreadError
from worker.gateways.turns import Party, Turns
from worker.protocol import (
    GATEWAY_HEADER,
    GATEWAY_ID_PATTERN,
    MOST_GATEWAYS,
    GiveBack,
    Grant,
    Keep,
    ProtocolError,
    Standing,
    Waiting,
    decode_gateways_slot_message,
)

logger = structlog.get_logger(__name__)

_MOST_UNSENT_BYTES = 1 << 16
_CLOSE_REFUSED = 1008
_CLOSE_TOO_MANY = 1013


def gateway_of(websocket: WebSocket) -> str | None:
    """The gateway that opened the socket, by its own word; None when it gives no name."""
    name = websocket.headers.get(GATEWAY_HEADER, "")
    return name if re.fullmatch(GATEWAY_ID_PATTERN, name) else None


class SlotSocket:
    """The socket over which one gateway and the worker speak about slots."""

    def __init__(self, websocket: WebSocket, turns: Turns) -> None:
        self._websocket = websocket
        self._turns = turns
        self._lost = asyncio.Event()
        self._outbox = Outbox.to(websocket, _MOST_UNSENT_BYTES, on_failure=lambda error: self._lost.set())

    async def serve(self) -> None:
        """Returns when either side has closed."""
        gateway = gateway_of(self._websocket)
        if gateway is None:
            await self._websocket.close(_CLOSE_REFUSED, f"{GATEWAY_HEADER} is missing or wrong")
            return
        if self._turns.gateways >= MOST_GATEWAYS:
            await self._websocket.close(_CLOSE_TOO_MANY, "too many gateways")
            return
        outlet = self._tell
        party = self._turns.join(gateway, outlet)
        try:
            await self._until_lost(self._read(party))
        except WebSocketDisconnect:
            logger.info("a gateway left", gateway=gateway)
        except ProtocolError as error:
            logger.warning("a gateway says what is not of the protocol", gateway=gateway, error=str(error))
            await self._websocket.close(_CLOSE_REFUSED)
        finally:
            self._turns.leave(gateway, outlet)
            self._outbox.drop()

    async def _until_lost(self, reading: object) -> None:
        reader, lost = asyncio.ensure_future(reading), asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({reader, lost}, return_when=asyncio.FIRST_COMPLETED)
            if reader.done():
                reader.result()
        finally:
            reader.cancel()
            lost.cancel()

    async def _read(self, party: Party) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            self._take(party, message.get("text") or "")

    def _take(self, party: Party, text: str) -> None:
        message = decode_gateways_slot_message(text)
        if isinstance(message, Waiting):
            self._turns.wait(party, message.requests)
        elif isinstance(message, Keep):
            self._turns.keep(party, message.lease, message.grant)
        elif isinstance(message, GiveBack):
            self._turns.give_back(party, message.lease, message.grant)

    def _tell(self, message: Grant | Standing) -> None:
        try:
            self._outbox.put(message.model_dump_json())
        except UnreadError:
            self._lost.set()
