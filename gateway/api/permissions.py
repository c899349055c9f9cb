"""Who may use the admin API, who may cancel a ticket, and to whom belongs what a caller makes.

The admin API asks for its token (`X-Admin-Token: TOKEN` or `Authorization: Bearer TOKEN`): the one of the
settings, else the one that the gateway made at its first start (`gateway/files/kept_secrets.py`). That a
request comes from this machine opens nothing: requests by way of relays and pages of others do, too.
"""

from __future__ import annotations

from typing import TypeVar

from fastapi import Depends
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from gateway.callers.identity import ADMINISTRATOR
from gateway.callers.origin import is_local, is_welcome
from gateway.database import Book, TendedRow
from gateway.edge.addresses import Networks
from gateway.errors import ApiError
from gateway.service import Gateway, GatewayDep
from gateway.slots.line.tickets import Ticket
from worker.protocol import REGISTRATION_PATH

Row = TypeVar("Row", bound=TendedRow | Book)


async def require_admin(connection: HTTPConnection, gateway: GatewayDep) -> None:
    """Dependency of every admin route: `check_admin`."""
    check_admin(connection, gateway)


def check_admin(connection: HTTPConnection, gateway: Gateway) -> None:
    """Raises ApiError: 401 for a wrong token or none, 429 for too many wrong ones."""
    given = _given_token(connection.headers)
    found = gateway.callers.credential(connection, given) if given else None
    if found is None or found.kind != "admin":
        message = (
            "the admin API needs the admin token: VOXFLEET_ADMIN_TOKEN, or what admin-token in data_dir says"
        )
        raise ApiError(401, "invalid_admin_token", message)


async def require_metrics(connection: HTTPConnection, gateway: GatewayDep) -> None:
    """Dependency of /metrics. Raises ApiError: 401, 429, unless everybody may see it."""
    if gateway.settings.expose_metrics:
        return
    given = _given_token(connection.headers)
    found = gateway.callers.credential(connection, given) if given else None
    if found is None or found.kind not in ("admin", "metrics"):
        raise ApiError(401, "invalid_metrics_token", "/metrics needs the metrics token or the admin token")


def check_worker(connection: HTTPConnection, gateway: Gateway) -> str | None:
    """The id whose own secret a worker shows; None for the shared secret, or for none on this machine.

    Raises ApiError: 401 for a wrong secret, 403 from another network or, without one, another machine; 429.
    """
    settings = gateway.settings
    client = gateway.callers.client(connection)
    if not client.known:
        message = "where this comes from cannot be told: name the proxy in trusted_proxies, or use no proxy"
        raise ApiError(403, "client_unknown", message)
    if client.host not in Networks(settings.worker_networks):
        raise ApiError(403, "worker_network", "workers dial in from the networks of worker_networks alone")
    if settings.worker_secret is None and not settings.worker_secrets:
        if not is_local(connection):
            message = "without VOXFLEET_WORKER_SECRET only workers on this machine may dial in"
            raise ApiError(403, "worker_local_only", message)
        return None
    given = _bearer(connection.headers)
    found = gateway.callers.credential(connection, given) if given else None
    if found is None or found.kind != "worker":
        raise ApiError(401, "invalid_worker_secret", "the secret of workers is missing or wrong")
    return found.name or None


def check_sender(connection: HTTPConnection, gateway: Gateway) -> None:
    """Whether the head says enough of its sender for a body to be read. Raises ApiError: 401, 403."""
    if connection.scope["path"] == REGISTRATION_PATH:
        check_worker(connection, gateway)
        return
    try:
        gateway.callers.identify(connection)
    except ApiError:
        if not is_admin(connection, gateway):
            raise


def is_admin(connection: HTTPConnection, gateway: Gateway) -> bool:
    """Whether `check_admin` lets the request pass."""
    try:
        check_admin(connection, gateway)
    except ApiError:
        return False
    return True


def seen_by(
    row: Row | None, connection: HTTPConnection, gateway: Gateway, unknown: ApiError
) -> tuple[Row, str | None]:
    """`row` for its owner and for administrators, and who asks: a tenant, None for an administrator.

    Raises `unknown` for whoever else asks and where there is no row, ApiError for somebody unknown.
    """
    tenant = None if is_admin(connection, gateway) else owner_of(connection, gateway)
    if row is None or tenant not in (None, row.owner):
        raise unknown
    return row, tenant


def owner_of(connection: HTTPConnection, gateway: Gateway) -> str:
    """The tenant whom what the caller makes will belong to. Raises ApiError for somebody unknown.

    An address that is a proxy's is no owner: all clients behind it would be.
    """
    tenant = gateway.callers.identify(connection).tenant
    client = gateway.callers.client(connection)
    if tenant == client.address and not client.known:
        message = (
            "clients behind this proxy cannot be told apart: name it, and none of them, in trusted_proxies, "
            "or send an API key"
        )
        raise ApiError(403, "client_unknown", message)
    return tenant


def tenant_of_admin(connection: HTTPConnection, gateway: Gateway) -> str:
    """What an administrator is called who may have no API key."""
    try:
        return gateway.callers.identify(connection).tenant
    except ApiError:
        return ADMINISTRATOR


def tenant_or_none(connection: HTTPConnection, gateway: Gateway) -> str | None:
    """Who asks; None for somebody who could own nothing."""
    try:
        return owner_of(connection, gateway)
    except ApiError:
        return None


def who_changes(connection: HTTPConnection, gateway: Gateway) -> tuple[str, bool]:
    """Who wants to change something, and whether as an administrator. Raises ApiError 401, 403."""
    if is_admin(connection, gateway):
        return tenant_of_admin(connection, gateway), True
    return owner_of(connection, gateway), False


async def refuse_cross_site(connection: HTTPConnection, gateway: GatewayDep) -> None:
    """Dependency of what changes something. Raises ApiError for another site's page that is not allowed."""
    if not is_welcome(connection.headers, gateway.settings.allowed_origins):
        raise ApiError(403, "cross_site", "another site's page may not do this")


MUTATION = Depends(refuse_cross_site)
"""Among the dependencies of a route that changes something."""


def who_administers(connection: HTTPConnection, gateway: Gateway) -> str:
    """Who passed `require_admin`, for the event log: the address, since administrators share their token."""
    return gateway.callers.client(connection).address


def check_ticket(connection: HTTPConnection, gateway: Gateway, ticket_id: str) -> tuple[Ticket, bool]:
    """The ticket, and whether it is an administrator who asks about it and not its client.

    Raises ApiError: 401, 403, 429 for somebody unknown; 404 for whoever else asks, another site's page
    included, and where there is no ticket.
    """
    ticket = gateway.pool.tickets.get(ticket_id)
    admin = is_admin(connection, gateway)  # also of what comes from the operator's own address
    if not admin and not (ticket is not None and _owns(connection, gateway, ticket)):
        if "x-admin-token" in connection.headers:
            check_admin(connection, gateway)
        gateway.callers.identify(connection)
        ticket = None
    if ticket is None:
        raise ApiError(404, "unknown_ticket", f"there is no ticket {ticket_id!r}", param="ticket")
    return ticket, admin


def _owns(connection: HTTPConnection, gateway: Gateway, ticket: Ticket) -> bool:
    if not is_welcome(connection.headers, gateway.settings.allowed_origins):
        return False
    try:
        return gateway.callers.identify(connection).tenant == ticket.standing.tenant
    except ApiError:
        return False


def _given_token(headers: Headers) -> str | None:
    return headers.get("x-admin-token") or _bearer(headers)


def _bearer(headers: Headers) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token else None
