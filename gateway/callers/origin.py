"""Where a request comes from: this machine, a proxy, a page of another site.

A request that a proxy forwarded, that was addressed to another host name (DNS rebinding), or that a foreign
page sent (cross-site) is not from this machine.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from worker.protocol import is_loopback

FOR_ANY_PAGE = {"Cross-Origin-Resource-Policy": "cross-origin"}
"""Headers of audio that a page of another site plays, for whom `may_play` has been asked."""
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")


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


def is_welcome(headers: Headers, allowed_origins: list[str]) -> bool:
    """Whether a request is of no page, of a page of this host, or of one that is allowed by name."""
    return headers.get("origin") in allowed_origins or is_same_origin(headers)


def may_play(headers: Headers, allowed_origins: list[str]) -> bool:
    """The same of a player within a page, which may name its page as Referer alone."""
    if is_welcome(headers, allowed_origins):
        return True
    try:
        page = urlsplit(headers.get("referer", ""))
    except ValueError:
        return False
    return f"{page.scheme}://{page.netloc}" in allowed_origins
