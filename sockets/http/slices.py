"""What arrives in very many lines is read a little at a time, with a turn of the event loop between.

A quarter of a megabyte, which is what one read of the socket gives, may be 40,000 chunks of a body, or
thousands of requests. All of that at once, of some clients at a time, would hold up everybody.
"""

from __future__ import annotations

import asyncio

from sockets.http.heads import BoundedHeadProtocol

MOST_LINES = 4096
"""That are read at once; audio has a quarter of them in a read by chance."""
SLICE_BYTES = 1 << 12
"""Of more, in one turn of the event loop."""


class SlicingProtocol(BoundedHeadProtocol):
    """HTTP/1.1 that reads no more than some thousand lines at once."""

    _held = b""
    """What arrived and is not read."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._held = b""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._held:
            self._held += data
            self.transport.pause_reading()
        elif data.count(b"\n") > MOST_LINES:
            self._held = data
            self.transport.pause_reading()
            self._go_on()
        else:
            super().data_received(data)

    def _go_on(self) -> None:
        if not self._held:
            return
        piece, self._held = self._held[:SLICE_BYTES], self._held[SLICE_BYTES:]
        super().data_received(piece)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            self._held = b""
        elif self._held:
            asyncio.get_running_loop().call_soon(self._go_on)
        elif not self.flow.read_paused:
            self.transport.resume_reading()
