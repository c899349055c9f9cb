"""A client's socket without a network."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from starlette.datastructures import Headers


class Link:
    """An ASGI socket whose client says this and leaves, and reads what is sent once `reads` is set."""

    def __init__(self, *says: dict[str, Any]) -> None:
        self.state, self.scope = SimpleNamespace(request_id="r1"), {}
        self.client, self.headers = None, Headers()
        self._says = [{"type": "websocket.receive", "text": json.dumps(message)} for message in says]
        self.reads = asyncio.Event()
        self.sent: list[str | bytes] = []
        self.closed: tuple[int, str] | None = None
        """With which code, and why."""

    async def receive(self) -> dict[str, Any]:
        return self._says.pop(0) if self._says else {"type": "websocket.disconnect", "code": 1001}

    async def send_text(self, text: str) -> None:
        await self.reads.wait()
        self.sent.append(text)

    async def send_bytes(self, data: bytes) -> None:
        await self.reads.wait()
        self.sent.append(data)

    async def close(self, code: int, reason: str = "") -> None:
        self.closed = code, reason
