"""Who sends a request, and what that entitles it to.

With an API key (`Authorization: Bearer KEY`, `X-API-Key: KEY`, or for browsers' WebSockets the subprotocol
`voxfleet.key.KEY`) a caller is the key's name; without one it is its address, an IPv6 client its /64 network.
Callers take turns (`gateway/fairness.py`), may have so many requests at once, and may ask for classes up to
their own: anybody may step back to bulk, and interactive is for keys that say so.

A gateway without keys looks at no key, since clients made for other services always send one.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from gateway.errors import ApiError
from gateway.requests import TtsRequest, expected_audio_seconds
from gateway.settings import ApiKey, GatewaySettings
from gateway.standing import Priority, Standing

SUBPROTOCOL = "voxfleet"
"""What a WebSocket client offers beside its key, and gets back."""
_KEY_PREFIX = "voxfleet.key."
_IPV6_PREFIX_BITS = 64


@dataclass(frozen=True)
class Caller:
    """The sender of a request."""

    tenant: str
    highest: Priority
    weight: float = 1.0
    max_streams: int = 0

    def standing(self, request: TtsRequest) -> Standing:
        """The place in line that a clip gets. Raises ApiError when it asks for too high a class."""
        return self.standing_for(request.priority, expected_audio_seconds(request), Priority.DEFAULT)

    def standing_for(self, asked: str | None, expected_seconds: float, otherwise: Priority) -> Standing:
        """The place in line for so many seconds of audio. Raises ApiError when `asked` is too high a class.

        `otherwise`: the class of who asks for none, as far as the caller may have it.
        """
        priority = Priority(asked or otherwise)
        if priority.exceeds(self.highest):
            if asked is not None:
                message = f"this client may ask for {self.highest} at most"
                raise ApiError(403, "priority_not_allowed", message, param="priority")
            priority = self.highest
        return Standing(self.tenant, priority, expected_seconds, self.weight, self.max_streams)


class Callers:
    """Finds out who sends a request."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._keys: dict[str, tuple[str, ApiKey]] = {
            key.digest: (name, key) for name, key in settings.api_keys.items()
        }
        self._proxies = [ipaddress.ip_network(proxy, strict=False) for proxy in settings.trusted_proxies]

    def identify(self, connection: HTTPConnection) -> Caller:
        """The caller. Raises ApiError: 401 for an unknown key, or none where one is needed."""
        key = given_key(connection) if self._keys else None
        if key is not None:
            return self._by_key(key)
        settings = self._settings
        if not settings.anonymous:
            raise ApiError(401, "api_key_required", "this service needs an API key")
        return Caller(
            self.address(connection),
            settings.anonymous_priority,
            max_streams=settings.anonymous_max_streams,
        )

    def _by_key(self, given: str) -> Caller:
        if found := self._keys.get(hashlib.sha256(given.encode()).hexdigest()):
            name, key = found
            return Caller(f"key:{name}", key.priority, key.weight, key.max_streams)
        admin = self._settings.admin_token
        if admin is not None and hmac.compare_digest(given.encode(), admin.get_secret_value().encode()):
            return Caller("admin", Priority.INTERACTIVE)
        raise ApiError(401, "invalid_api_key", "there is no such API key")

    def address(self, connection: HTTPConnection) -> str:
        """The client's address; behind a trusted proxy the one that the proxy names."""
        peer = connection.client.host if connection.client else ""
        lines = connection.headers.getlist("x-forwarded-for")
        hops = [hop.strip() for line in lines for hop in line.split(",")]
        while self._proxies and hops and self._is_proxy(peer) and _parse(hops[-1]):
            peer = hops.pop()
        return _network(peer)

    def _is_proxy(self, address: str) -> bool:
        parsed = _parse(address)
        return parsed is not None and any(
            parsed in proxy for proxy in self._proxies if proxy.version == parsed.version
        )


def given_key(connection: HTTPConnection) -> str | None:
    """The API key that came with a request; never one from its address, which ends up in logs."""
    headers: Headers = connection.headers
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    if key := headers.get("x-api-key"):
        return key
    offered: list[str] = connection.scope.get("subprotocols", [])
    return next((word.removeprefix(_KEY_PREFIX) for word in offered if word.startswith(_KEY_PREFIX)), None)


def _parse(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None


def _network(address: str) -> str:
    """What counts as one client: an address, or for IPv6 the network that one household or server gets."""
    parsed = _parse(address)
    if parsed is None or parsed.version == 4:
        return address or "unknown"
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_PREFIX_BITS), strict=False))
