"""Who vouches for the other end of a link over TLS, the same for HTTP and for WebSockets."""

from __future__ import annotations

import functools
import ssl

import httpx


@functools.cache
def authorities() -> ssl.SSLContext:
    """Those of httpx and of the system, in which one of the operator's own may be, or `SSL_CERT_FILE`'s."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context
