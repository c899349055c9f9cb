"""A service whose one slot somebody else has."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import httpx

from tests.e2e.pages.studio.stage import PARAGRAPH
from tests.e2e.processes import Server, eventually
from tests.gateway.callers.administration import ADMIN


def slots_used(edge: Server) -> int:
    return sum(worker["slots_used"] for worker in edge.get_json("/api/workers")["workers"])


@contextlib.contextmanager
def occupied(edge: Server) -> Iterator[None]:
    """Somebody else's request on the one slot, until it is cancelled on the way out."""

    def speak() -> None:
        with contextlib.suppress(httpx.HTTPError):
            httpx.post(f"{edge.url}/tts", json={"text": PARAGRAPH}, timeout=60)

    thread = threading.Thread(target=speak)
    thread.start()
    try:
        eventually(lambda: slots_used(edge) == 1)
        yield
    finally:
        for request in edge.get_json("/api/queue")["running"]:
            httpx.delete(f"{edge.url}/api/queue/{request['ticket_id']}", headers=ADMIN)
        thread.join()
