"""`/api/sessions`: what its owner, an administrator, the holder of a share key and a stranger get."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.app import create_app
from gateway.audio.wav import wav_header
from gateway.service import Gateway
from gateway.sessions import Recording
from gateway.sessions.archive import Part, stream_zip
from gateway.settings import load_settings
from tests.gateway.audio_files import wav_samples
from tests.gateway.processes import check_error

RATE = 24000
ADMIN = {"X-Admin-Token": "administrators-token"}
_FIRST_SAMPLE = len(wav_header(RATE, 0, noted=True))
SPAN = f"{_FIRST_SAMPLE}-{_FIRST_SAMPLE + 55}"
PCM = bytes(range(256)) * 40


class Clients:
    """A gateway, and clients of it at addresses of their own."""

    def __init__(self, gateway: Gateway, app: Any) -> None:
        self.gateway = gateway
        self._app = app

    def at(self, address: str, **options: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self._app, client=(address, 5000))
        return httpx.AsyncClient(transport=transport, base_url="http://voxfleet", **options)

    def begin(self, owner: str, text: str = "Hello there.") -> Recording:
        """A session with one utterance, still being recorded."""
        recording = self.gateway.recorder.open("live", {"voice": "slt"}, owner, asked=True)
        index = recording.utterance(text, {"seed": 1})
        recording.worker(index, "w0")
        recording.audio(index, PCM, RATE)
        return recording

    async def record(self, owner: str, text: str = "Hello there.", utterances: int = 1) -> str:
        """A session that has ended; its id."""
        recording = self.begin(owner, text)
        for index in range(1, utterances):
            recording.utterance(text, {})
            recording.audio(index, PCM[: 100 * index], RATE)
        recording.finish("stop")
        await self.gateway.recorder.settled(recording.session_id)
        return recording.session_id


@asynccontextmanager
async def running(tmp_path: Path, **options: Any) -> AsyncIterator[Clients]:
    app = create_app(load_settings(data_dir=tmp_path / "data", admin_token=ADMIN["X-Admin-Token"], **options))
    gateway: Gateway = app.state.gateway
    async with gateway.running():
        yield Clients(gateway, app)


@pytest.fixture
async def clients(tmp_path: Path) -> AsyncIterator[Clients]:
    async with running(tmp_path) as started:
        yield started


async def test_one_sees_ones_own_and_an_administrator_sees_all(clients: Clients) -> None:
    mine = [await clients.record("10.0.0.1", f"Number {number}.") for number in range(3)]
    yours = await clients.record("10.0.0.2")
    async with clients.at("10.0.0.1") as me:
        first = (await me.get("/api/sessions", params={"limit": 2})).json()
        rest = (await me.get("/api/sessions", params={"limit": 2, "before": first["next_before"]})).json()
        listed = first["sessions"] + rest["sessions"]
        assert [session["id"] for session in listed] == mine[::-1] and rest["next_before"] is None
        assert [session["title"] for session in listed] == ["Number 2.", "Number 1.", "Number 0."]
        assert all(session["owner_is_me"] and "owner" not in session for session in listed)
        check_error(await me.get("/api/sessions?all=true"), 401)
        everybody = (await me.get("/api/sessions?all=true", headers=ADMIN)).json()["sessions"]
    assert {session["id"]: session["owner"] for session in everybody} == {
        yours: "10.0.0.2", **dict.fromkeys(mine, "10.0.0.1"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("GET", "/audio", None),
        ("GET", "/audio/0", None),
        ("GET", "/download", None),
        ("GET", "/words.srt", None),
        ("PATCH", "", {"title": "Taken over"}),
        ("POST", "/share", None),
        ("DELETE", "/share", None),
        ("DELETE", "", None),
    ],
)
async def test_a_session_is_its_owners_and_the_administrators(
    clients: Clients, method: str, path: str, body: Any
) -> None:
    session_id = await clients.record("10.0.0.1")
    shared_only = {"key": (await clients.gateway.recorder.index.share(session_id)).share_key}
    url = f"/api/sessions/{session_id}{path}"
    async with clients.at("10.0.0.2") as stranger:
        assert check_error(await stranger.request(method, url, json=body), 404)["code"] == "unknown_session"
        check_error(await stranger.request(method, url, json=body, params={"key": "guess"}), 404)
        by_key = await stranger.request(method, url, json=body, params=shared_only)
        assert by_key.status_code == (200 if method == "GET" else 404)
        assert (await stranger.request(method, url, json=body, headers=ADMIN)).is_success
    async with clients.at("10.0.0.1") as owner:
        gone = method == "DELETE" and not path
        answer = await owner.request(method, url, json=body)
        assert answer.status_code == 404 if gone else answer.is_success


async def test_a_share_key_opens_one_session_for_anybody_and_can_be_taken_back(tmp_path: Path) -> None:
    key = "acme-0123456789abcdef"
    async with running(tmp_path, api_keys={"acme": {"key": key}}, anonymous=False) as clients:
        mine, other = [await clients.record("key:acme") for _ in range(2)]
        async with (
            clients.at("10.0.0.1", headers={"X-API-Key": key}) as owner,
            clients.at("10.9.9.9") as guest,
        ):
            check_error(await guest.get(f"/api/sessions/{mine}"), 401)
            shared = (await owner.post(f"/api/sessions/{mine}/share")).json()
            assert shared["url"] == f"/sessions/{mine}?key={shared['share_key']}"
            seen = (await guest.get(f"/api/sessions/{mine}", params={"key": shared["share_key"]})).json()
            assert seen["session"]["owner_is_me"] is False and seen["session"]["share_key"] is None
            check_error(await guest.get(f"/api/sessions/{other}", params={"key": shared["share_key"]}), 401)
            assert (await owner.get(f"/api/sessions/{mine}")).json()["session"]["share_key"] is not None
            assert (await owner.delete(f"/api/sessions/{mine}/share")).status_code == 204
            check_error(await guest.get(f"/api/sessions/{mine}", params={"key": shared["share_key"]}), 401)


async def test_behind_a_proxy_nobody_sees_the_sessions_of_all_its_clients(tmp_path: Path) -> None:
    forwarded = {"X-Forwarded-For": "203.0.113.5"}
    async with running(tmp_path) as clients:
        session_id = await clients.record("10.0.0.1")
        async with clients.at("10.0.0.1", headers=forwarded) as proxy:
            for path in ("", f"/{session_id}", f"/{session_id}/audio"):
                refused = check_error(await proxy.get(f"/api/sessions{path}"), 403)
                assert refused["code"] == "client_unknown"
            assert (await proxy.get(f"/api/sessions/{session_id}", headers=ADMIN)).is_success
    async with running(tmp_path / "trusted", trusted_proxies="10.0.0.1") as clients:
        session_id = await clients.record("203.0.113.5")
        async with clients.at("10.0.0.1", headers=forwarded) as proxy:
            assert (await proxy.get(f"/api/sessions/{session_id}")).is_success


async def test_what_it_shows_is_what_was_recorded(clients: Clients) -> None:
    session_id = await clients.record("10.0.0.1", "Hello there.", utterances=2)
    async with clients.at("10.0.0.1") as me:
        shown = (await me.get(f"/api/sessions/{session_id}")).json()
        merged = await me.get(f"/api/sessions/{session_id}/audio")
        part = await me.get(f"/api/sessions/{session_id}/audio", headers={"Range": f"bytes={SPAN}"})
        beyond = await me.get(f"/api/sessions/{session_id}/audio", headers={"Range": "bytes=9999999-"})
        second = await me.get(f"/api/sessions/{session_id}/audio/1")
        check_error(await me.get(f"/api/sessions/{session_id}/audio/2"), 404)
        check_error(await me.get(f"/api/sessions/{session_id}/audio/-1"), 404)
    session, timeline = shown["session"], shown["timeline"]
    assert (session["state"], session["outcome"], session["sample_rate"]) == ("complete", "stop", RATE)
    assert (session["utterances"], session["kind"]) == (2, "live")
    texts = [utterance["text"] for utterance in timeline["utterances"]]
    assert texts == ["Hello there."] * 2
    words = [texts[0][word["start"] : word["end"]] for word in timeline["utterances"][0]["words"]]
    assert words == ["Hello", "there."]
    assert merged.headers["Content-Type"] == "audio/wav" and wav_samples(merged.content) == PCM + PCM[:100]
    assert part.status_code == 206 and part.content == PCM[:56]
    assert part.headers["Content-Range"] == f"bytes {SPAN}/{len(merged.content)}"
    assert beyond.status_code == 416
    assert wav_samples(second.content) == PCM[:100]


async def test_the_zip_holds_everything(clients: Clients) -> None:
    session_id = await clients.record("10.0.0.1", utterances=2)
    async with clients.at("10.0.0.1") as me:
        await me.patch(f"/api/sessions/{session_id}", json={"title": "Tape", "comment": "Ö <b>"})
        answer = await me.get(f"/api/sessions/{session_id}/download")
    assert answer.headers["Content-Type"] == "application/zip"
    assert re.search(r'filename="tape-slt-\d{4}-\d\d-\d\d\.zip"', answer.headers["Content-Disposition"])
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        whole = archive.namelist()[-1]
        assert whole.startswith("tape-slt-")
        assert archive.namelist() == [
            "meta.json", "recording.json", "audio/0000.wav", "audio/0001.wav", whole,
        ]  # fmt: skip
        meta = json.loads(archive.read("meta.json"))
        assert (meta["title"], meta["comment"], meta["state"]) == ("Tape", "Ö <b>", "complete")
        assert "10.0.0.1" not in archive.read("meta.json").decode(), "the address of its owner stays here"
        assert len(json.loads(archive.read("recording.json"))["utterances"]) == 2
        assert wav_samples(archive.read(whole)) == PCM + PCM[:100]


async def test_the_zip_is_made_piece_by_piece(clients: Clients, tmp_path: Path) -> None:
    session_id = await clients.record("10.0.0.1")
    folder = clients.gateway.recorder.folder / session_id
    (folder / "audio" / "0001.wav").write_bytes(bytes(20 << 20))
    sizes = [len(piece) for piece in stream_zip([Part(folder, {}, "tape")])]
    assert sum(sizes) > 20 << 20 and max(sizes) <= 1 << 20


async def test_titles_and_comments_have_bounds_and_keep_what_is_left_out(clients: Clients) -> None:
    session_id = await clients.record("10.0.0.1")
    async with clients.at("10.0.0.1") as me:
        url = f"/api/sessions/{session_id}"
        await me.patch(url, json={"comment": "c" * 2000})
        changed = (await me.patch(url, json={"title": "t" * 160})).json()["session"]
        assert (len(changed["title"]), len(changed["comment"])) == (160, 2000)
        cleared = (await me.patch(url, json={"comment": None})).json()["session"]
        assert (len(cleared["title"]), cleared["comment"]) == (160, "")
        for body, field in (
            ({"title": "t" * 161}, "title"),
            ({"comment": "c" * 2001}, "comment"),
            ({"comment": 5}, "comment"),
            ({"comment": "a\0b"}, "comment"),
            ({"owner": "me"}, "owner"),
        ):
            assert check_error(await me.patch(url, json=body), 422)["param"] == field


async def test_pages_of_other_sites_change_nothing(clients: Clients) -> None:
    session_id = await clients.record("10.0.0.1")
    url = f"/api/sessions/{session_id}"
    foreign = {"Origin": "https://evil.example"}
    async with clients.at("10.0.0.1") as me:
        for method, path in (("PATCH", ""), ("POST", "/share"), ("DELETE", "/share"), ("DELETE", "")):
            answer = await me.request(method, url + path, json={"title": "x"}, headers=foreign)
            assert check_error(answer, 403)["code"] == "cross_site"
        assert (await me.get(url)).json()["session"]["title"] == "Hello there."


async def test_a_session_that_is_recorded_can_be_looked_at_but_not_deleted(clients: Clients) -> None:
    recording = clients.begin("10.0.0.1")
    url = f"/api/sessions/{recording.session_id}"
    async with clients.at("10.0.0.1") as me:
        shown = (await me.get(url)).json()
        assert shown["session"]["state"] == "active"
        assert [utterance["text"] for utterance in shown["timeline"]["utterances"]] == ["Hello there."]
        assert (await me.get(f"{url}/audio")).status_code == 200
        for answer in (await me.delete(url), await me.get(f"{url}/download")):
            assert check_error(answer, 409)["code"] == "session_active"
        recording.finish("stop")
        assert (await me.get(url)).json()["session"]["state"] == "complete"
        assert (await me.delete(url)).status_code == 204
        check_error(await me.get(url), 404)
    assert list(clients.gateway.recorder.folder.iterdir()) == []


@pytest.mark.parametrize(
    "before", ["", "x", "1", "1.2", "99999999999999999999999999.s_" + "a" * 22, "1.s_%00"]
)
async def test_a_wrong_cursor_is_refused(clients: Clients, before: str) -> None:
    async with clients.at("10.0.0.1") as me:
        answer = await me.get("/api/sessions", params={"before": before})
    assert check_error(answer, 422)["param"] == "before"


@pytest.mark.parametrize("name", ["..", "%2e%2e", "s_short", "s_" + "%2f" * 22, "s_" + "a" * 22])
async def test_what_is_no_session_is_unknown(clients: Clients, name: str) -> None:
    async with clients.at("10.0.0.1") as me:
        for path in ("/audio", "/audio/0", "/download"):
            check_error(await me.get(f"/api/sessions/{name}{path}"), 404)


async def test_storage_is_the_administrators(clients: Clients) -> None:
    await clients.record("10.0.0.1")
    async with clients.at("10.0.0.1") as me:
        check_error(await me.get("/api/sessions/storage"), 401)
        stored = (await me.get("/api/sessions/storage", headers=ADMIN)).json()
    assert (stored["count"], stored["active"], stored["record_sessions"]) == (1, 0, "ask")
    assert stored["bytes"] > len(PCM)
    assert stored["largest_owner_bytes"] == stored["bytes"]
    assert stored["voices_bytes"] == 0 < stored["free_bytes"]
    assert stored["limits"] == {
        "max_storage_gb": 20,
        "max_owner_gb": 5,
        "min_free_disk_gb": 1,
        "retention_days": 90,
    }


@pytest.mark.parametrize(
    ("asked", "status_code", "code"),
    [
        ("bytes=0-0, 2-", 206, None),
        ("bytes=-5", 206, None),
        ("bytes=0-1, 99999999-, -0", 206, None),
        ("bytes=-0", 416, "range_not_satisfiable"),
        ("bytes=99999999-, 99999999-99999999", 416, "range_not_satisfiable"),
        ("bytes=0-0,x", 200, None),
        ("bytes", 200, None),
        ("bytes=", 200, None),
        ("lines=0-1", 200, None),
        ("bytes=9-3", 200, None),
        ("bytes=99999999-9", 200, None),
        ("bytes=" + "9" * 5000 + "-", 200, None),
        ("bytes=99999999-", 416, "range_not_satisfiable"),
    ],
)
async def test_a_range_that_is_none_is_ignored_and_one_that_is_not_there_refused(
    clients: Clients, asked: str, status_code: int, code: str | None
) -> None:
    session = await clients.record("10.0.0.1")
    async with clients.at("10.0.0.1") as http:
        for path in (f"/api/sessions/{session}/audio", "/static/css/admin/settings.css"):
            size = (await http.get(path)).headers["Content-Length"]
            answer = await http.get(path, headers={"Range": asked})
            if code is None:
                assert answer.status_code == status_code
                continue
            assert check_error(answer, status_code)["code"] == code
            assert answer.headers["X-Request-Id"]
            assert answer.headers.get("Content-Range") == (f"bytes */{size}" if status_code == 416 else None)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("recording.json", "{}"),
        ("recording.json", '{"utterances": [null]}'),
        ("recording.jsonl", '{"type": "utterance", "text": "No number."}\n'),
        ("recording.jsonl", '{"type": "session", "events": 1}\n'),
    ],
)
async def test_one_whose_files_are_damaged_says_so_and_keeps_its_audio(
    clients: Clients, name: str, content: str
) -> None:
    session = await clients.record("10.0.0.1")
    folder = clients.gateway.recorder.folder / session
    (folder / "recording.json").unlink()
    (folder / name).write_text(content)
    async with clients.at("10.0.0.1") as http:
        for path in ("", "/words.srt"):
            answer = await http.get(f"/api/sessions/{session}{path}")
            assert check_error(answer, 409)["code"] == "session_damaged"
        with zipfile.ZipFile(
            io.BytesIO((await http.get(f"/api/sessions/{session}/download")).content)
        ) as file:
            assert [name for name in file.namelist() if name.endswith(".wav")]
            assert "recording.json" not in file.namelist()
        assert (await http.get(f"/api/sessions/{session}/audio")).is_success
        assert (await http.delete(f"/api/sessions/{session}")).is_success


async def test_of_several_ranges_those_are_sent_that_the_file_has(clients: Clients) -> None:
    session = await clients.record("10.0.0.1")
    async with clients.at("10.0.0.1") as http:
        for path in (f"/api/sessions/{session}/audio", "/static/css/admin/settings.css"):
            whole = (await http.get(path)).content
            one = await http.get(path, headers={"Range": "bytes=99999999-, 0-3"})
            assert (one.content, one.headers["Content-Range"]) == (whole[:4], f"bytes 0-3/{len(whole)}")
            two = await http.get(path, headers={"Range": "bytes=0-0,99999999-,-1"})
            assert two.content.count(b"Content-Range: ") == 2


async def test_who_has_a_recording_is_not_sent_it_again(clients: Clients) -> None:
    session = await clients.record("10.0.0.1")
    async with clients.at("10.0.0.1") as http:
        path = f"/api/sessions/{session}/audio"
        first = await http.get(path)
        tag, date = first.headers["ETag"], first.headers["Last-Modified"]
        old = "Sun, 06 Nov 1994 08:49:37 GMT"
        known = [
            {"If-None-Match": tag}, {"If-None-Match": f'"x", W/{tag}', "Range": "bytes=0-1"},
            {"If-None-Match": "*"}, {"If-Modified-Since": date},
        ]  # fmt: skip
        new = [
            {"If-None-Match": '"x"', "If-Modified-Since": date}, {"If-Modified-Since": old},
            {"If-Modified-Since": "yesterday"},
        ]  # fmt: skip
        for headers in known:
            answer = await http.get(path, headers=headers)
            assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", tag), headers
        for headers in new:
            answer = await http.get(path, headers=headers)
            assert (answer.status_code, answer.content) == (200, first.content), headers
