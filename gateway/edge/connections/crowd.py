"""How many connections a gateway holds, in all and for one address, and who is one too many.

Each takes a file descriptor, and so do workers, recordings and uploads: without a bound below the limit of
descriptors, whoever opens enough connections locks out everybody, and the gateway from its own workers.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter

import structlog

from gateway.edge.addresses import Networks, network
from gateway.errors import ApiError
from gateway.settings import GatewaySettings

logger = structlog.get_logger(__name__)

_WANTED_DESCRIPTORS = 65_536
_OTHER_DESCRIPTORS = 0.25
"""Share of them that workers, recordings, uploads and the database may take."""
_BEING_REFUSED = 64
"""Connections beyond the bound that are told so; more are cut at once."""
_RETRY_SECONDS = 5.0


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files as far as it helps and the hard one allows; the limit then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _WANTED_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError) as error:
            logger.warning("the limit of open files cannot be raised", soft=soft, error=str(error))
        else:
            return wanted
    return _WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


class Crowd:
    """Counts open connections by their transports."""

    def __init__(self, settings: GatewaySettings, descriptors: int | None = None) -> None:
        """`descriptors`: how many files the process may open; None: what its soft limit says."""
        if descriptors is None:
            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            descriptors = _WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
        by_descriptors = max(1, descriptors - max(64, int(_OTHER_DESCRIPTORS * descriptors)))
        self.most = min(settings.max_connections, by_descriptors)
        self.most_of_one = min(settings.max_connections_per_address or self.most // 2 or 1, self.most)
        self._proxies = Networks(settings.trusted_proxies)
        self._addresses: dict[asyncio.BaseTransport, str] = {}
        self._by_address: Counter[str] = Counter()
        self._complained_at = -1e9

    def __len__(self) -> int:
        return len(self._addresses)

    def enter(self, transport: asyncio.BaseTransport) -> ApiError | None:
        """A connection was opened; why it is refused, if it is. One that nobody has time for is cut."""
        peer = transport.get_extra_info("peername")
        address = peer[0] if isinstance(peer, tuple) else ""
        key = network(address)
        self._addresses[transport] = key
        self._by_address[key] += 1
        if len(self) > self.most:
            problem = ApiError(
                503, "too_many_connections", f"{self.most} connections are open, and no more may be",
                retry_after_seconds=_RETRY_SECONDS,
            )  # fmt: skip
        elif self._by_address[key] > self.most_of_one and address not in self._proxies:
            problem = ApiError(
                503, "too_many_connections",
                f"{self.most_of_one} connections of this address are open, and no more may be",
                retry_after_seconds=_RETRY_SECONDS,
            )  # fmt: skip
        else:
            return None
        self._complain(key)
        if len(self) > self.most + _BEING_REFUSED:
            transport.abort()
        return problem

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """It was closed. Counted once."""
        key = self._addresses.pop(transport, None)
        if key is None:
            return
        self._by_address[key] -= 1
        if not self._by_address[key]:
            del self._by_address[key]

    def _complain(self, address: str) -> None:
        """One line of log in a while."""
        now = asyncio.get_running_loop().time()
        if now - self._complained_at > _RETRY_SECONDS:
            self._complained_at = now
            logger.warning(
                "too many connections", address=address, of_it=self._by_address[address], all=len(self)
            )
