"""Messages on their way to one client; see `sockets/outbox.py`."""

from __future__ import annotations

import sockets.outbox
from gateway.errors import ApiError

SLOW_CLIENT = "slow_client"
"""Code of the error for a client that left too much unread."""


class Outbox(sockets.outbox.Outbox):
    """`put` raises ApiError."""

    def too_much(self) -> ApiError:
        """The error 408 for a client that leaves too much unread."""
        return ApiError(408, SLOW_CLIENT, "the audio was not read fast enough")
