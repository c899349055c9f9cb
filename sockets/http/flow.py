"""How long the server waits for a client that does not read its answer."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl

from sockets.at_once import Deadline


class BoundedFlow(FlowControl):
    """uvicorn's, with the deadline of a client that does not read; an event exists while somebody waits."""

    def __init__(self, transport: asyncio.Transport, stall_seconds: float) -> None:
        self._transport = transport
        self._stall = Deadline(stall_seconds)
        self._resumed: asyncio.Event | None = None
        self.read_paused = False
        self.write_paused = False

    async def drain(self) -> None:
        """Wait until the client has read enough, or is gone."""
        if self.write_paused:
            self._resumed = self._resumed or asyncio.Event()
            await self._resumed.wait()

    def pause_writing(self) -> None:
        """The client does not keep up."""
        if not self.write_paused:
            self.write_paused = True
            self._stall.start(self._transport)

    def resume_writing(self) -> None:
        """It has read, or the connection is lost."""
        self.write_paused = False
        self._stall.stop()
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None
