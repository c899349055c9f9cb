"""Screenshots of the pages, at desktop and phone width, in light and dark.

    python -m scripts.screenshots --out build/screenshots              # starts a small synthetic fleet
    python -m scripts.screenshots --url http://127.0.0.1:8006          # of a running gateway

Each page is caught in the middle of its work: the studio while it speaks, the admin page with requests that
run and wait and, in the fleet of its own, one worker that drains.
"""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import DESKTOP, PHONE, chromium, watched_page
from tests.e2e.processes import eventually, gateway, worker

TEXT = (
    "The fog lifted a little after six. One by one the boats in the harbour lit their lamps, "
    "and someone on the pier began to sing."
)
SIZES = {"desktop": {**DESKTOP, "height": 960}, "phone": PHONE}
THEMES = ("light", "dark")
LOAD_REQUESTS = 9
HISTORY_MS = 8000


@contextlib.contextmanager
def small_fleet() -> Iterator[str]:
    """The URL of a gateway with three workers, one of them draining."""
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(worker(slots=2, step_ms=45)) for _ in range(3)]
        edge = stack.enter_context(gateway([each.url for each in workers]))
        eventually(lambda: all(one["state"] == "IDLE" for one in edge.get_json("/api/workers")["workers"]))
        httpx.post(f"{edge.url}/api/workers/w2/drain").raise_for_status()
        yield edge.url


@contextlib.contextmanager
def load(url: str) -> Iterator[None]:
    """Requests that keep a small fleet busy and its queue filled."""
    over = threading.Event()

    def speak() -> None:
        while not over.is_set():
            with contextlib.suppress(httpx.HTTPError):
                httpx.post(f"{url}/tts", json={"text": TEXT, "format": "pcm"}, timeout=60)

    threads = [threading.Thread(target=speak) for _ in range(LOAD_REQUESTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


@contextlib.contextmanager
def opened(browser: Browser, size: str, theme: str) -> Iterator[Page]:
    """A fresh page of that size and theme."""
    options = {"viewport": SIZES[size], "color_scheme": theme, "device_scale_factor": 2}
    with watched_page(browser, **options) as watched:
        yield watched.page
        for complaint in watched.complaints:
            print("  the page complains:", complaint)


def shoot_studio(page: Page, url: str, path: Path) -> None:
    """The studio, a few seconds into a sentence."""
    page.goto(url)
    page.fill("#text", TEXT)
    page.click("#generate")
    stage = page.locator("#stage")
    expect(stage).to_have_attribute("data-player", "playing", timeout=60_000)
    page.locator("#text").blur()
    page.wait_for_timeout(3000)
    page.screenshot(path=path)


def shoot_admin(page: Page, url: str, path: Path) -> None:
    """The admin page, once its sparklines have some history."""
    page.goto(f"{url}/admin")
    expect(page.locator(".worker[data-worker]").first).to_be_visible()
    page.wait_for_timeout(HISTORY_MS)
    page.screenshot(path=path, full_page=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", help="of a running gateway; its admin API must answer this machine")
    parser.add_argument("--out", type=Path, default=Path("build/screenshots"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    fleet = contextlib.nullcontext(options.url.rstrip("/")) if options.url else small_fleet()
    with fleet as url, chromium() as browser:
        for name, shoot, busy in (("studio", shoot_studio, False), ("admin", shoot_admin, True)):
            with load(url) if busy else contextlib.nullcontext():
                for size in SIZES:
                    for theme in THEMES:
                        path = options.out / f"{name}-{size}-{theme}.png"
                        with opened(browser, size, theme) as page:
                            shoot(page, url, path)
                        print(path)


if __name__ == "__main__":
    main()
