"""TCP ports on this machine: is one free, which are, and which are held for a server that is to listen."""

from __future__ import annotations

import contextlib
import random
import socket
from collections import deque
from pathlib import Path

PORT_SPAN = 1000
_LOWEST = 10_000
_OUTGOING_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_OUTGOING_FROM = 32_768
"""Where the system's own choice of ports begins, if it does not say."""
_TRIES = 100
_MOST_HELD = 64


class PortError(RuntimeError):
    """A port that is needed cannot be had."""


class HeldPort:
    """A port that is given to nobody else here, also while nobody listens there: not yet, or not again.

    A UDP socket of the same number holds it. It is in no listener's way, and ends with this process.
    """

    def __init__(self, host: str, number: int) -> None:
        """Raises OSError where somebody listens, or holds it."""
        family, kind, protocol, _, address = socket.getaddrinfo(host, number, type=socket.SOCK_DGRAM)[0]
        self._holding = socket.socket(family, kind, protocol)
        try:
            self._holding.bind(address)
            self.number = _listen(host, number)
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """Leave the port to others."""
        self._holding.close()


_held: deque[HeldPort] = deque()
"""Ports that `any_free` gave, the oldest first."""


def ensure_free(host: str, port: int) -> None:
    """Raises PortError, worded for the user, unless a server could listen on `host`:`port` now."""
    try:
        _listen(host, port)
    except socket.gaierror as error:
        raise PortError(f"{host!r} is no address of this machine: {error.strerror}") from error
    except OSError as error:
        raise PortError(f"cannot listen on {host}:{port}: {error.strerror}") from error


def hold_free(host: str, first: int, count: int) -> list[HeldPort]:
    """The `count` lowest free ports from `first` on. Raises PortError when the next thousand has too few."""
    found: list[HeldPort] = []
    for number in range(first, min(first + PORT_SPAN, 65536)):
        if len(found) == count:
            break
        with contextlib.suppress(OSError):
            found.append(HeldPort(host, number))
    if len(found) < count:
        for port in found:
            port.release()
        raise PortError(f"found {len(found)} free ports from {first} on, {count} are needed")
    return found


def any_free(host: str) -> int:
    """A free port that the system gives to nobody meanwhile: below those of outgoing connections.

    It is held until this process has asked for `_MOST_HELD` others. Raises PortError when none was found.
    """
    try:
        outgoing_from = int(_OUTGOING_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        outgoing_from = _OUTGOING_FROM
    for _ in range(_TRIES):
        try:
            port = HeldPort(host, random.randrange(_LOWEST, max(outgoing_from, _LOWEST + PORT_SPAN)))
        except OSError:
            continue
        _held.append(port)
        if len(_held) > _MOST_HELD:
            _held.popleft().release()
        return port.number
    raise PortError(f"no free port found on {host}")


def _listen(host: str, port: int) -> int:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
        probe.listen(1)
        return probe.getsockname()[1]
