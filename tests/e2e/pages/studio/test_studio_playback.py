"""Playback over a connection that delivers unevenly, as the audio thread of a real browser counts it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Page

from benchmarks.chaos.fault_proxy import FaultProxy
from tests.e2e.pages.studio.stage import expect_player, expect_state, figure, open_studio
from tests.e2e.processes import Server, eventually, gateway, worker

JITTER_SECONDS = 0.1
PROMISED_LATENESS = 0.07
"""Seconds. A first pre-roll covers 80 ms; what is late by more was not delivered as this test promises."""
ATTEMPTS = 4
STEP_MS = 80
"""Half of the 160 ms that a step brings: real-time factor 0.5."""
TEXT = "One by one the boats in the harbour lit their lamps."


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


def worst_lateness(page: Page) -> float:
    """Seconds by which the latest piece came after the end of the audio before it, had that been played as it
    came.
    """
    return float(page.evaluate(_LATENESS))


_NOTE_ARRIVALS = """
window.arrivals = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => {
      if (data instanceof ArrayBuffer) window.arrivals.push([performance.now() / 1000, data.byteLength / 2]);
    });
  }
};
"""
_LATENESS = """async () => {
  const { sample_rate: rate } = await (await fetch("/api/config")).json();
  let before = 0;
  return Math.max(...window.arrivals.map(([at, samples]) => {
    const late = at - window.arrivals[0][0] - before / rate;
    before += samples;
    return late;
  }));
}"""


def test_half_of_real_time_and_100_ms_of_jitter_are_heard_without_an_underrun(page: Page) -> None:
    page.add_init_script(_NOTE_ARRIVALS)
    with (
        worker(slots=1, step_ms=STEP_MS) as one,
        gateway([one.url]) as edge,
        jittery(edge) as far,
    ):
        for attempt in range(1, ATTEMPTS + 1):
            open_studio(page, far, TEXT)
            page.click("#generate")
            eventually(lambda: figure(page, "played-samples"))
            expect_state(page, "done")
            expect_player(page, "ended")
            assert figure(page, "played-samples") == figure(page, "received-samples") > 0
            assert metric(edge, "voxfleet_playback_clips_total") == attempt
            if worst_lateness(page) < PROMISED_LATENESS:
                assert figure(page, "underruns") == 0
                assert metric(edge, "voxfleet_played_seconds_total") > 0
                return
        pytest.skip("this machine is too busy to deliver at half of real time")
