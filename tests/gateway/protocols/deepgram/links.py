"""How the tests of both versions of Deepgram's `speak` ask for it."""

from __future__ import annotations

import json
from typing import Any

from tests.gateway.stages.processes import Stream

KEY = "acme-0123456789abcdef"
HEADERS = {"Authorization": f"Token {KEY}"}


class Speech(Stream):
    """One socket."""

    async def say(self, kind: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": kind, **fields}))
