"""The certificate that clients are shown. It is renewed while the gateway runs, so its files are read again
when they change. Connections that are open keep what they have.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

logger = structlog.get_logger(__name__)

LOOK_SECONDS = 30.0


@asynccontextmanager
async def followed(
    context: ssl.SSLContext | None, certificate: Path | None, key: Path | None
) -> AsyncIterator[None]:
    """`context`, which shows the certificate, shows what the files become while the block lasts."""
    if context is None or certificate is None or key is None:
        yield
        return
    following = asyncio.create_task(_follow(context, certificate, key))
    try:
        yield
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


async def _follow(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    shown = told = _state(certificate, key)
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if (found := _state(certificate, key)) == shown:
            continue
        try:
            # one of the two may be new alone, until the other is written, and would leave none to show
            for loaded in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), context):
                loaded.load_cert_chain(certificate, key, password=lambda: "")
        except OSError as error:
            if found != told:
                logger.warning("the new certificate cannot be used; the old one is shown", reason=str(error))
            told = found
            continue
        shown = told = found
        logger.info("the certificate was read again")


def _state(*files: Path) -> list[tuple[int, int, int] | None]:
    """What changes with a file; None for one that is not there."""
    states: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            status = os.stat(file)
            states.append((status.st_ino, status.st_mtime_ns, status.st_size))
        except OSError:
            states.append(None)
    return states
