"""Which host names a request may be addressed to.

A page of another site can have its own name resolve to this machine (DNS rebinding); its requests then look
like those of our pages, but for their `Host`. So a name that anybody could own must stand in `allowed_hosts`.
Addresses, `localhost`, names without a dot and this machine's own name need not: no page's site has one.
"""

from __future__ import annotations

import re
import socket

from starlette.types import Scope

from gateway.edge.addresses import parse
from gateway.errors import ApiError

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_LONGEST_ECHO = 128


class AllowedHosts:
    """The rule for all routes and sockets."""

    def __init__(self, allowed: list[str]) -> None:
        """`allowed`: names, `*.example.org` for those below one, `*` for all."""
        self._all = "*" in allowed
        own = socket.gethostname().lower()
        self._names = {name.lower().rstrip(".") for name in allowed} | {own, f"{own}.local"}
        self._domains = tuple(name.lower()[1:] for name in allowed if name.startswith("*."))

    def check(self, scope: Scope) -> None:
        """Raises ApiError: 400 for a request without one host, 421 for one that is meant for another."""
        given = [value for name, value in scope["headers"] if name == b"host"]
        if not given and scope.get("http_version") == "1.0":
            return  # as old health checks are, and no page's request
        if len(given) != 1:
            raise ApiError(400, "bad_host", "a request has exactly one Host header", param="Host")
        host = given[0].decode("latin-1").strip()
        found = _HOST.fullmatch(host)
        if not found:
            raise ApiError(400, "bad_host", "the Host header names no host", param="Host")
        name = found[1].lower().rstrip(".")
        if not self._allows(name):
            message = f"{host[:_LONGEST_ECHO]} is no host of this service: name it in allowed_hosts if it is"
            raise ApiError(421, "host_not_allowed", message, param="Host")

    def _allows(self, name: str) -> bool:
        if self._all or name in self._names or name.endswith(self._domains):
            return True
        return "." not in name or name.endswith(".localhost") or parse(name.strip("[]")) is not None
