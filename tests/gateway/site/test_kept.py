"""Pages of several editions, as while gateways are upgraded in turn: each gets its files from any of them."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import httpx
import pytest

import gateway.site.kept as kept_module
from gateway.app import create_app
from gateway.settings import load_settings
from gateway.site.edition import Edition
from gateway.site.kept import MOST_EDITIONS, KeptEditions

PAGE = '<html><head>\n  <script type="module" src="/static/js/main.js"></script>\n</head></html>\n'


def pages(folder: Path, words: str) -> Path:
    (folder / "static/js").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "static/js/main.js").write_text('import { x } from "./x.js";\nconsole.log(x);\n')
    (folder / "static/js/x.js").write_text(f'export const x = "{words}";\n' + "// long\n" * 100)
    return folder


def gateway_of(frontend: Path, data: Path) -> httpx.AsyncClient:
    settings = load_settings(worker_urls="http://127.0.0.1:9", frontend_dir=frontend, data_dir=data)
    transport = httpx.ASGITransport(create_app(settings))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


async def script_of(client: httpx.AsyncClient) -> str:
    return (await client.get("/")).text.partition('src="')[2].partition('"')[0]


async def test_any_gateway_has_the_files_of_a_page_of_another(tmp_path: Path) -> None:
    former, present = pages(tmp_path / "former", "former"), pages(tmp_path / "present", "present")
    (data := tmp_path / "data").mkdir()
    async with gateway_of(former, data) as old, gateway_of(present, data) as new:
        scripts = {"former": await script_of(old), "present": await script_of(new)}
        assert scripts["former"] != scripts["present"]
        for words, script in scripts.items():
            answers = [await each.get(script) for each in (old, new)]
            assert answers[0].content == answers[1].content and f'"{words}"'.encode() in answers[0].content
            for answer in answers:
                assert "immutable" in answer.headers["Cache-Control"]
                assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
                assert answer.headers["Content-Encoding"] == "gzip"
            assert answers[0].headers["ETag"] == answers[1].headers["ETag"]


async def test_a_page_that_was_open_before_an_upgrade_gets_its_files_after_it(tmp_path: Path) -> None:
    (data := tmp_path / "data").mkdir()
    async with gateway_of(pages(tmp_path / "former", "former"), data) as client:
        script = await script_of(client)
    async with gateway_of(pages(tmp_path / "present", "present"), data) as client:
        assert '"former"' in (await client.get(script)).text


async def test_gateways_that_share_no_folder_have_nothing_of_each_other(tmp_path: Path) -> None:
    folders = [pages(tmp_path / words, words) for words in ("former", "present")]
    async with (
        gateway_of(folders[0], tmp_path / "none") as old,
        gateway_of(folders[1], tmp_path / "none either") as new,
    ):
        answer = await new.get(await script_of(old))
        assert (answer.status_code, answer.headers["Cache-Control"]) == (404, "no-store")


async def test_pages_are_served_where_the_disk_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_module, "write_atomically", full)
    (data := tmp_path / "data").mkdir()
    async with gateway_of(pages(tmp_path / "present", "present"), data) as client:
        assert (await client.get(await script_of(client))).is_success
    assert list((data / "editions").iterdir()) == []


def test_the_latest_editions_are_kept_and_those_that_were_started_again(tmp_path: Path) -> None:
    kept = KeptEditions(tmp_path / "editions")
    editions = [Edition(pages(tmp_path / f"{n}", f"{n}")) for n in range(MOST_EDITIONS + 2)]
    for age, edition in enumerate(editions[:-2]):
        kept.keep(edition)
        os.utime(tmp_path / "editions" / f"{edition.version}.zip", (1000 + age, 1000 + age))
    kept.keep(editions[0])
    for edition in editions[-2:]:
        kept.keep(edition)
    gone = [edition for edition in editions if kept.file(edition.version, "js/x.js") is None]
    assert gone == editions[1:3]


def test_a_file_that_is_damaged_is_none(tmp_path: Path) -> None:
    kept, edition = KeptEditions(tmp_path / "editions"), Edition(pages(tmp_path / "present", "present"))
    kept.keep(edition)
    assert kept.file(edition.version, "js/none.js") is None
    (tmp_path / "editions" / f"{edition.version}.zip").write_bytes(b"half of it")
    assert kept.file(edition.version, "js/x.js") is None


def test_a_file_whose_bytes_are_damaged_is_none(tmp_path: Path) -> None:
    kept, edition = KeptEditions(tmp_path / "editions"), Edition(pages(tmp_path / "present", "present"))
    kept.keep(edition)
    (path,) = (tmp_path / "editions").iterdir()
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as packed:
        member = packed.getinfo("js/x.js")
        start = member.header_offset + 30 + len(member.filename)
    content[start : start + member.compress_size] = b"\xff" * member.compress_size
    path.write_bytes(content)
    assert kept.file(edition.version, "js/x.js") is None


def test_no_bit_that_is_wrong_is_an_error(tmp_path: Path) -> None:
    kept, edition = KeptEditions(tmp_path / "editions"), Edition(pages(tmp_path / "present", "present"))
    kept.keep(edition)
    (path,) = (tmp_path / "editions").iterdir()
    content = path.read_bytes()
    whole = kept.file(edition.version, "js/x.js")
    entry = content.rindex(b"js/x.js") - 46
    for place in range(entry + 6, entry + 28):  # version, flags, method, time, sum, sizes
        for bit in range(8):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :])
            assert KeptEditions(path.parent).file(edition.version, "js/x.js") in (None, whole)
