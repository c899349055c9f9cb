"""The pages while the gateway is away: what the browser holds is there, answers of the API are kept nowhere,
and a new version of the pages is there at the next load."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import threading
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import WatchedPage, watched_page
from tests.e2e.pages.away.balancer import balancer, former_pages
from tests.e2e.processes import Server, eventually, free_port, gateway, worker

FRONTEND = Path(__file__).resolve().parents[4] / "frontend"
KEPT = """async () => {
  const found = {};
  for (const name of await caches.keys()) {
    found[name] = (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def one() -> Iterator[Server]:
    with worker(slots=2, step_ms=10) as running:
        yield running


@pytest.fixture
def keeping(browser: Browser) -> Iterator[WatchedPage]:
    """A page in a browser that may have a service worker."""
    with watched_page(browser, service_workers="allow") as watched:
        yield watched


class _Away(BaseHTTPRequestHandler):
    """What a proxy answers whose gateway is not there."""

    def do_GET(self) -> None:
        self.send_error(502)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextlib.contextmanager
def proxy_without_gateway(port: int) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", port), _Away)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def until_kept(page: Page) -> None:
    """Until the service worker has what it keeps."""
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")


def test_without_the_gateway_the_studio_has_its_history(keeping: WatchedPage, one: Server) -> None:
    page = keeping.page
    with gateway([one.url]) as edge:
        page.goto(edge.url)
        until_kept(page)
        page.click("#generate")
        expect(page.locator(".clip[data-shown]")).to_be_visible(timeout=30_000)
        expect(page.locator("#generate")).to_have_attribute("data-state", "idle")
        page.reload()  # from now on the service worker is asked
        expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
        assert keeping.complaints == []
    page.reload()
    expect(page.locator(".clip")).to_have_count(1)
    expect(page.locator(".lamp")).to_have_attribute("data-state", "down")
    page.locator(".clip .button-play, .clip button").first.click()
    expect(page.locator(".clip[data-shown]")).to_be_visible()
    for path, heading in (("/live", None), ("/sessions", "Sessions"), ("/docs/livekit", "LiveKit")):
        page.goto(edge.url + path)
        expect(page.get_by_role("navigation").first).to_be_visible()
        if heading:
            expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()


def test_pages_and_files_are_kept_and_nothing_else(keeping: WatchedPage, one: Server) -> None:
    page = keeping.page
    with gateway([one.url]) as edge:
        for _ in range(2):
            page.goto(edge.url)
            until_kept(page)
            for path in ("/api/voices", "/api/config", "/openapi.json", "/tts?text=Hello", "/version"):
                assert page.evaluate("(path) => fetch(path).then((answer) => answer.ok)", path)
        kept = page.evaluate(KEPT)
        assert len(kept) == 1
        paths = {path for some in kept.values() for path in some}
        rooms = ("", "live", "chat", "book", "book/any", "sessions", "sessions/any", "train", "admin", "docs")
        pages = {f"/{room}" for room in rooms}
        assert pages <= paths
        assert all(re.match(r"/static/v-[0-9a-f]{16}/", path) for path in paths - pages)
        assert len(paths) < 80


def test_a_new_version_is_there_at_the_next_load(keeping: WatchedPage, one: Server, tmp_path: Path) -> None:
    page, folder = keeping.page, tmp_path / "frontend"
    shutil.copytree(FRONTEND, folder, ignore=shutil.ignore_patterns("node_modules"))
    with gateway([one.url], VOXFLEET_FRONTEND_DIR=str(folder)) as edge:
        page.goto(edge.url)
        until_kept(page)
        page.reload()
        before = page.locator("script[type=module]").get_attribute("src")
        words = folder / "static" / "js" / "i18n" / "en" / "common.js"
        words.write_text(words.read_text().replace('"nav.studio": "Studio"', '"nav.studio": "Atelier"'))
        eventually(lambda: before not in httpx.get(edge.url).text)  # it looks for changes once a second
        page.reload()
        expect(page.locator(".nav-pages a").first).to_have_text("Atelier")
        version = str(page.locator("script[type=module]").get_attribute("src")).split("/")[2]
        eventually(lambda: [name.split("-")[2] for name in page.evaluate("caches.keys()")] == [version[2:]])


INSTALLED = """async () => {
  const { installing, waiting, active } = await navigator.serviceWorker.register("/service-worker.js");
  const worker = installing ?? waiting ?? active ?? { state: "redundant", addEventListener() {} };
  return new Promise((resolve) => {
    const tell = () => ["activated", "redundant"].includes(worker.state) && resolve(worker.state);
    worker.addEventListener("statechange", tell);
    tell();
  });
}"""


def test_nothing_is_kept_of_a_gateway_of_another_version(
    keeping: WatchedPage, one: Server, tmp_path: Path
) -> None:
    """As while several that share no folder are upgraded in turn: files would stand under wrong addresses."""
    page, kept_from = keeping.page, [""]
    former = former_pages(tmp_path / "frontend")

    def choose(path: str, headers: Message) -> str:
        by_worker = path.startswith("/static/") and headers["Sec-Fetch-Dest"] == "empty"
        return kept_from[0] if by_worker else new.url

    with (
        gateway([one.url]) as new,
        gateway([one.url], VOXFLEET_FRONTEND_DIR=str(former)) as old,
        balancer(choose) as url,
    ):
        kept_from[0] = old.url
        page.goto(f"{url}/docs")
        assert page.evaluate(INSTALLED) == "redundant"
        kept_from[0] = new.url
        assert page.evaluate(INSTALLED) == "activated"
        script = page.locator("script[type=module]").get_attribute("src")
        kept = page.evaluate("async (path) => (await caches.match(path)).text()", script)
        assert '"nav.studio": "Studio"' in kept


def test_a_gateway_that_a_proxy_cannot_reach_counts_as_away(keeping: WatchedPage, one: Server) -> None:
    port = free_port()
    page = keeping.page
    with gateway([one.url], port=port) as edge:
        page.goto(edge.url)
        until_kept(page)
        page.reload()
    with proxy_without_gateway(port):
        page.reload()
        expect(page.locator(".nav-brand")).to_be_visible()
        expect(page.locator(".lamp")).to_have_attribute("data-state", "down")


def test_the_manifest_is_one(page: Page, fleet: Server) -> None:
    page.goto(fleet.url)
    session = page.context.new_cdp_session(page)
    told = session.send("Page.getAppManifest")
    assert told["errors"] == []
    manifest = json.loads(told["data"])
    assert (manifest["start_url"], manifest["display"]) == ("/", "standalone")
    for icon in manifest["icons"]:
        answer = httpx.get(httpx.URL(told["url"]).join(icon["src"]))
        assert answer.headers["content-type"] == icon["type"]
        if icon["type"] == "image/png":
            width, height = (int.from_bytes(answer.content[at : at + 4]) for at in (16, 20))
            assert icon["sizes"] == f"{width}x{height}"
    answer = httpx.get(told["url"])
    assert answer.headers["content-type"] == "application/manifest+json"
    assert "immutable" in answer.headers["cache-control"]


def test_the_service_worker_is_asked_for_anew_each_time(fleet: Server) -> None:
    answer = httpx.get(f"{fleet.url}/service-worker.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "no-cache"
    files = json.loads(re.search(r"^const FILES = (.*);$", answer.text, re.MULTILINE)[1])
    assert all(httpx.get(fleet.url + path).is_success for path in files)
    assert any(path.endswith("/js/audio/worklet.js") for path in files)
