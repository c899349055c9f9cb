"""Who vouches for the other end of a link over TLS, the same for HTTP and for WebSockets."""

from __future__ import annotations

import functools
import ssl

import httpx


@functools.cache
def authorities() -> ssl.SSLContext:
    """Trusts the authorities that httpx and the system know, and those in `SSL_CERT_FILE`."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context
