"""What browsers get of the pages: an address per content, kept for ever, compressed, and little of it."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from gateway.app import create_app
from gateway.settings import load_settings
from gateway.site.edition import File
from tests.gateway.callers.administration import ADMIN_TOKEN

PAGE = """<html><head>
  <link rel="preload" href="/static/fonts/a.woff2">
  <link rel="stylesheet" href="/static/css/a.css">
  <link rel="stylesheet" href="/static/css/b.css">
  <script type="module" src="/static/js/main.js"></script>
</head></html>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = tmp_path / "pages"
    for name, content in {
        "index.html": PAGE,
        "static/css/a.css": "a {}",
        "static/css/b.css": "b {}\n" * 200,
        "static/js/main.js": 'import { x } from "./x.js";\nconsole.log(x);\n',
        "static/js/x.js": "export const x = 1;\n",
        "static/fonts/a.woff2": "font" * 500,
    }.items():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text(content)
    return pages


def client_of(**settings: object) -> httpx.AsyncClient:
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", admin_token=ADMIN_TOKEN, **settings))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


@pytest.fixture
async def client(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(frontend_dir=folder) as opened:
        yield opened


def addresses(page: str) -> list[str]:
    return re.findall(r'(?:href|src)="([^"]+)"', page)


async def test_a_page_names_one_style_sheet_and_one_script_of_its_edition(client: httpx.AsyncClient) -> None:
    page = await client.get("/")
    assert page.headers["Cache-Control"] == "no-cache"
    font, style, script = addresses(page.text)
    version = style.split("/")[2]
    assert re.fullmatch(r"v-[0-9a-f]{16}", version)
    assert [font, style, script] == [
        f"/static/{version}/fonts/a.woff2",
        f"/static/{version}/pages/index.css",
        f"/static/{version}/pages/index.js",
    ]
    assert (await client.get(style)).text == "a {}\n" + "b {}\n" * 200
    assert "const x = 1" in (await client.get(script)).text


async def test_a_file_of_the_edition_is_kept_for_ever_and_compressed(client: httpx.AsyncClient) -> None:
    style = addresses((await client.get("/")).text)[1]
    raw = await client.get(style, headers={"Accept-Encoding": "identity"})
    assert "immutable" in raw.headers["Cache-Control"] and "Content-Encoding" not in raw.headers
    small = await client.get(style, headers={"Accept-Encoding": "br, gzip"})
    assert small.headers["Content-Encoding"] == "gzip" and small.headers["Vary"] == "Accept-Encoding"
    assert small.content == raw.content
    assert int(small.headers["Content-Length"]) < len(raw.content)
    refused = await client.get(style, headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers
    font = await client.get(addresses((await client.get("/")).text)[0], headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in font.headers


async def test_who_has_the_page_is_not_sent_it_again(client: httpx.AsyncClient) -> None:
    first = await client.get("/")
    again = await client.get("/", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304 and again.content == b""
    assert again.headers["Cache-Control"] == "no-cache"


async def test_under_an_edition_that_nobody_has_there_is_nothing(client: httpx.AsyncClient) -> None:
    for path in ("js/x.js", "js/none.js"):
        answer = await client.get(f"/static/v-0123456789abcdef/{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert answer.headers["Cache-Control"] == "no-store"
    assert (await client.get("/static/js/x.js")).headers["Cache-Control"] == "no-cache"


async def test_a_file_that_changes_makes_another_edition(
    client: httpx.AsyncClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.site.site._LOOK_AGAIN_SECONDS", 0)
    before = addresses((await client.get("/")).text)[2]
    changed = folder / "static/js/x.js"
    changed.write_text("export const x = 2;\n")
    os.utime(changed, ns=(1, 1))
    after = addresses((await client.get("/")).text)[2]
    assert after != before
    assert "const x = 2" in (await client.get(after)).text


async def test_a_page_has_the_parts_that_it_names(folder: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "parts/head.html").write_text('  <link rel="stylesheet" href="/static/css/a.css">\n')
    (folder / "index.html").write_text(
        PAGE.replace('  <link rel="preload"', '  <!-- parts/head.html -->\n  <link rel="preload"')
    )
    async with client_of(frontend_dir=folder) as client:
        page = (await client.get("/")).text
        assert "parts/" not in page
        style = addresses(page)[0]
        assert (await client.get(style)).text == "a {}\na {}\n" + "b {}\n" * 200
        assert (await client.get("/head.html")).status_code == 404


async def test_a_page_that_cannot_be_linked_is_served_as_modules(
    client: httpx.AsyncClient, folder: Path
) -> None:
    (folder / "static/js/x.js").write_text("export let x = 1;\n")
    script = addresses((await client.get("/")).text)[2]
    assert script.endswith("/js/main.js")
    served = await client.get(script)
    assert served.text == (folder / "static/js/main.js").read_text()
    assert "immutable" in served.headers["Cache-Control"]


async def test_a_gateway_without_pages_says_so(tmp_path: Path) -> None:
    async with client_of(frontend_dir=tmp_path / "nowhere") as client:
        answer = await client.get("/")
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == "this gateway serves no pages"


async def test_a_browser_gets_a_page_at_an_unknown_address_and_everybody_else_an_error() -> None:
    browser, program = {"accept": "text/html,*/*;q=0.8"}, {"accept": "application/json"}
    async with client_of() as http:
        page = await http.get("/no/such/page", headers=browser)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "There is no such page" in page.text
        for path, headers in (("/no/such/page", program), ("/api/no", browser), ("/static/no.js", browser)):
            answer = await http.get(path, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert (await http.post("/no/such/page", headers=browser)).status_code == 404


async def test_every_address_of_our_pages_is_there() -> None:
    async with client_of() as client:
        for path in ("/", "/live", "/chat", "/sessions", "/sessions/x", "/admin", "/book", "/train", "/docs"):
            page = (await client.get(path)).text
            static = [address for address in addresses(page) if address.startswith("/static/")]
            installed = [each for each in static if each.endswith(("/icon-192.png", ".webmanifest"))]
            assert len(installed) == 2, "asked for by who installs the pages"
            assert len(static) - 2 <= 8, "each of them is a way to the gateway and back"
            for address in static:
                answer = await client.get(address)
                assert answer.status_code == 200, address
                assert "immutable" in answer.headers["Cache-Control"], address
                style = answer.text if address.endswith(".css") else ""
                for font in re.findall(r'url\("\.\./([^"]+)"\)', style):
                    assert address.rsplit("/", 2)[0] + "/" + font in static, "fonts are asked for early"


def test_compressed_is_the_same_file() -> None:
    file = File(b"text " * 1000, "text/css")
    assert file.compressed is not None and gzip.decompress(file.compressed) == file.body
    assert File(b"short", "text/css").compressed is None


async def test_the_service_worker_names_what_pages_need_and_changes_with_them(
    client: httpx.AsyncClient, folder: Path
) -> None:
    assert (await client.get("/service-worker.js")).status_code == 404
    worker = folder / "service-worker.js"
    worker.write_text('const EDITION = "";\nconst FILES = [];\n')
    async with client_of(frontend_dir=folder) as changed:
        page, told = (await changed.get("/")).text, await changed.get("/service-worker.js")
        assert told.headers["cache-control"] == "no-cache"
        assert all(f'"{address}"' in told.text for address in addresses(page))
        assert "js/x.js" not in told.text, "is part of the page's script"
    (folder / "index.html").write_text(PAGE.replace("<html>", '<html lang="en">'))
    async with client_of(frontend_dir=folder) as changed:
        assert (await changed.get("/service-worker.js")).text != told.text
