"""Where a worker is reached that dialled in, and what it is shown there.

Such a worker chooses its URL itself. So the gateway looks its host up, and connects to an address that it has
checked: a name that means something else a moment later (DNS rebinding) leads nowhere else, and neither does
a redirect, which is never followed. Workers of the static list are where the settings say.
"""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from gateway.edge.addresses import Networks, parse

_LOOKUP_SECONDS = 2.0
_FRESH_SECONDS = 5.0
"""For so long a checked address is used again."""


class NotAllowedError(Exception):
    """The host has no address within the networks."""


class NoAddressError(Exception):
    """The host cannot be looked up."""


@dataclass(frozen=True)
class Endpoint:
    """What to connect to: the worker's URL with a checked address for its host."""

    url: str
    address: str | None
    """None: wherever the URL leads."""
    host: str
    """As in the URL, with the port; what the `Host` header says."""
    name: str
    """Whose certificate is asked for where the scheme is https."""


class Whereabouts:
    """One worker's URL. `networks`: in which its address has to lie; None: anywhere."""

    def __init__(self, url: str, networks: Networks | None = None, secret: SecretStr | None = None) -> None:
        """`secret`: what the worker is shown."""
        self._parts = urlsplit(url)
        self._networks = networks
        self._found: tuple[float, Endpoint] | None = None
        self._answers: str | None = None
        """The address that was reached last, unless it has failed since."""
        self._failed: set[str | None] = set()
        """Addresses that were tried in vain; none any more once all were."""
        self.headers = {"Authorization": f"Bearer {secret.get_secret_value()}"} if secret else {}

    async def endpoint(self) -> Endpoint:
        """Where it is now. Raises NotAllowedError, NoAddressError."""
        if self._networks is None:
            return self._endpoint(None)
        if self._found is not None and time.monotonic() - self._found[0] < _FRESH_SECONDS:
            return self._found[1]
        endpoint = self._endpoint(await self._allowed_address(self._networks))
        self._found = (time.monotonic(), endpoint)
        return endpoint

    def answered(self, where: Endpoint) -> None:
        """It was reached there."""
        self._answers = where.address

    def look_again(self) -> None:
        """It was not reached. The host may be somewhere else by now, or have another address that answers,
        as where it listens on IPv4 alone and has IPv6, too. One that has answered gets a second try.
        """
        if self._found is None:
            return
        (_, where), self._found = self._found, None
        if where.address == self._answers:
            self._answers = None
        else:
            self._failed.add(where.address)

    async def _allowed_address(self, networks: Networks) -> str:
        addresses = await self._lookup()
        allowed = [address for address in addresses if address in networks]
        if not allowed:
            raise NotAllowedError(f"{self._parts.hostname} has no address within worker_networks")
        if self._answers in allowed:
            return self._answers
        self._failed &= set(allowed)
        if self._failed == set(allowed):
            self._failed.clear()
        return next(address for address in allowed if address not in self._failed)

    async def _lookup(self) -> list[str]:
        host = self._parts.hostname or ""
        if (literal := parse(host)) is not None:
            return [str(literal)]
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_LOOKUP_SECONDS):
                found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, TimeoutError) as error:
            raise NoAddressError(f"{host} cannot be looked up: {type(error).__name__}") from error
        return list(dict.fromkeys(address[0] for *_, address in found))

    def _endpoint(self, address: str | None) -> Endpoint:
        parts = self._parts
        name, netloc = parts.hostname or "", parts.netloc
        if address is not None:
            port = "" if parts.port is None else f":{parts.port}"
            netloc = f"[{address}]{port}" if ":" in address else f"{address}{port}"
        return Endpoint(urlunsplit((parts.scheme, netloc, "", "", "")), address, parts.netloc, name)
