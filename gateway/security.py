"""Who may use the admin API, who may cancel a ticket, and whose pages may open sockets.

With a token configured, the admin API asks for it (`Authorization: Bearer TOKEN` or `X-Admin-Token: TOKEN`).
Without one it answers this machine alone, and takes care not to be fooled: a request that a proxy forwarded,
that was addressed to another host name (DNS rebinding), or that a foreign page sent (cross-site) is not from
this machine.
"""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from gateway.errors import ApiError
from gateway.service import Gateway, GatewayDep
from worker.protocol import is_loopback

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")


async def require_admin(connection: HTTPConnection, gateway: GatewayDep) -> None:
    """Dependency of every admin route: `check_admin`."""
    check_admin(connection, gateway)


def check_admin(connection: HTTPConnection, gateway: Gateway) -> None:
    """Raises ApiError: 401 for a wrong token, 403 from elsewhere."""
    secret = gateway.settings.admin_token
    if secret is None:
        if not is_local(connection):
            message = "without VOXFLEET_ADMIN_TOKEN the admin API answers this machine only"
            raise ApiError(403, "admin_local_only", message)
        return
    given = _given_token(connection.headers)
    if given is None or not hmac.compare_digest(given.encode(), secret.get_secret_value().encode()):
        raise ApiError(401, "invalid_admin_token", "the admin API needs the admin token")


def is_admin(connection: HTTPConnection, gateway: Gateway) -> bool:
    """Whether `check_admin` lets the request pass."""
    try:
        check_admin(connection, gateway)
    except ApiError:
        return False
    return True


def owner_of(connection: HTTPConnection, gateway: Gateway) -> str:
    """The tenant whom what the caller makes will belong to. Raises ApiError for somebody unknown.

    Behind a proxy that is not trusted, all clients without a key have its address: nobody's then.
    """
    tenant = gateway.callers.identify(connection).tenant
    by_address = gateway.callers.address(connection) == tenant
    if by_address and was_forwarded(connection) and not gateway.settings.trusted_proxies:
        message = "trusted_proxies does not name the proxy in front, so clients cannot be told apart"
        raise ApiError(403, "client_unknown", message)
    return tenant


async def refuse_cross_site(connection: HTTPConnection) -> None:
    """Dependency of what changes something. Raises ApiError for a request of another site's page."""
    if not is_same_origin(connection.headers):
        raise ApiError(403, "cross_site", "another site's page may not do this")


def who_administers(connection: HTTPConnection, gateway: Gateway) -> str:
    """Who passed `require_admin`, for the event log: the address, since administrators share their token."""
    return f"the administrator at {gateway.callers.address(connection)}"


def owns_ticket(connection: HTTPConnection, gateway: Gateway, ticket_id: str) -> bool:
    """Whether the ticket is of the same client, and the request is not another site's page's."""
    ticket = gateway.pool.tickets.get(ticket_id)
    if ticket is None or not is_same_origin(connection.headers):
        return False
    try:
        return gateway.callers.identify(connection).tenant == ticket.standing.tenant
    except ApiError:
        return False


def _given_token(headers: Headers) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return headers.get("x-admin-token")


def is_local(connection: HTTPConnection) -> bool:
    """Whether the request was made on this machine, to this machine, and not by a page from elsewhere."""
    headers = connection.headers
    if was_forwarded(connection):
        return False
    try:
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:  # half an IPv6 address
        return False
    peer = connection.client.host if connection.client else ""
    return is_loopback(peer) and is_loopback(host) and is_same_origin(headers)


def was_forwarded(connection: HTTPConnection) -> bool:
    """Whether a proxy passes on somebody else's request: it says so, or speaks HTTP/1.0.

    That is what nginx does unless told otherwise, and neither browsers nor curl do.
    """
    if connection.scope.get("http_version") == "1.0":
        return True
    return any(name in connection.headers for name in _FORWARDED)


def is_same_origin(headers: Headers) -> bool:
    """Whether a request is not a browser's on behalf of another site's page."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    except ValueError:
        return False


def may_open_socket(connection: HTTPConnection, allowed_origins: list[str]) -> bool:
    """Whether a WebSocket is opened by no page, by a page of this host, or by one that is allowed by name."""
    return connection.headers.get("origin") in allowed_origins or is_same_origin(connection.headers)
