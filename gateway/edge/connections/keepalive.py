"""Noticing a client that is gone without a word: its computer lost power or network, or left the Wi-Fi.

No FIN comes from there. As long as the gateway has nothing to send, which is how a request waits over HTTP,
nothing would ever fail. So the kernel asks the other end while the connection is silent (TCP keep-alive), and
gives up when neither an answer nor a receipt for what was sent has come for long enough.
"""

from __future__ import annotations

import asyncio
import socket

_PROBES = 3
"""Unanswered ones, the last at the end of the time."""
_MOST_SECONDS = 32_767
"""Before a probe. Linux takes no more, nor more milliseconds in all than an int has."""


def notice_vanishing(transport: asyncio.BaseTransport, seconds: float) -> None:
    """Have the kernel end a TCP connection whose peer has not been heard of for about `seconds`.

    Whole seconds, at least four. Options that the system lacks keep its defaults.
    """
    connection = transport.get_extra_info("socket")
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    interval = min(max(1, round(seconds / (2 * _PROBES))), _MOST_SECONDS)
    silent = min(max(1, round(seconds) - _PROBES * interval), _MOST_SECONDS)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle_option = getattr(socket, "TCP_KEEPIDLE", None) or getattr(socket, "TCP_KEEPALIVE", None)  # macOS
    options = (
        (idle_option, silent),
        (getattr(socket, "TCP_KEEPINTVL", None), interval),
        (getattr(socket, "TCP_KEEPCNT", None), _PROBES),
        (getattr(socket, "TCP_USER_TIMEOUT", None), 1000 * (silent + _PROBES * interval)),
    )
    for option, value in options:
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
