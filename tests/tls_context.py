"""One TLS context for all clients of httpx in a process.

Each would read the certificates of the system, which takes 20 ms of a CPU, and tests make a client for every
few requests, of services on the loopback that hardly ever speak TLS.
"""

from __future__ import annotations

import functools
import os
import ssl
from typing import Any

from httpx._transports import default

_create = default.create_ssl_context


@functools.cache
def _shared(trust_env: bool, *places: str | None) -> ssl.SSLContext:
    return _create(trust_env=trust_env)


def _context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    if verify is True and cert is None:
        return _shared(trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return _create(verify, cert, trust_env)


def share() -> None:
    """From now on, in this process and in its forks."""
    default.create_ssl_context = _context
    for trust_env in (True, False):
        _context(trust_env=trust_env)
