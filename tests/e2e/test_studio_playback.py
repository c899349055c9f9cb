"""Playback over a connection that delivers unevenly, as the audio thread of a real browser counts it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Page

from benchmarks.fault_proxy import FaultProxy
from tests.e2e.processes import Server, eventually, gateway, worker
from tests.e2e.test_pages import expect_player, expect_state, figure, open_studio

JITTER_SECONDS = 0.1
STEP_MS = 80
"""Half of the 160 ms that a step brings: real-time factor 0.5."""
TEXT = "One by one the boats in the harbour lit their lamps, and someone on the pier began to sing."


@contextlib.contextmanager
def jittery(edge: Server) -> Iterator[Server]:
    """The same server behind a proxy that holds back each piece by up to 100 ms."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> FaultProxy:
        proxy = await FaultProxy(urlsplit(edge.url).port or 0).__aenter__()
        proxy.jitter_seconds = JITTER_SECONDS
        return proxy

    proxy = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield Server(f"http://127.0.0.1:{proxy.port}", edge.process, edge.log)
    finally:
        asyncio.run_coroutine_threadsafe(proxy.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def metric(edge: Server, name: str) -> float:
    lines = httpx.get(f"{edge.url}/metrics").text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def test_half_of_real_time_and_100_ms_of_jitter_are_heard_without_an_underrun(page: Page) -> None:
    with (
        worker(slots=1, step_ms=STEP_MS) as one,
        gateway([one.url]) as edge,
        jittery(edge) as far,
    ):
        open_studio(page, far, TEXT)
        page.click("#generate")
        eventually(lambda: figure(page, "played-samples"))
        expect_state(page, "done")
        expect_player(page, "ended")
        assert figure(page, "played-samples") == figure(page, "received-samples") > 0
        assert figure(page, "underruns") == 0
        assert 0.3 < float(page.inner_text("#tile-rtf")) < 1
        assert metric(edge, "voxfleet_playback_clips_total") == 1
        assert metric(edge, "voxfleet_playback_underruns_total") == 0
        assert metric(edge, "voxfleet_played_seconds_total") > 0
