"""Files of a session: the zip, audio, and ranges of it."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway.sessions import archive
from gateway.sessions.archive import Part, stream_zip
from tests.gateway.audio.files import wav_samples
from tests.gateway.sessions.clients import PCM, Clients
from tests.gateway.stages.processes import check_error


async def test_the_zip_holds_everything(clients: Clients) -> None:
    session_id = await clients.record("10.0.0.1", utterances=2)
    async with clients.at("10.0.0.1") as me:
        await me.patch(f"/api/sessions/{session_id}", json={"title": "Tape", "comment": "Ö <b>"})
        answer = await me.get(f"/api/sessions/{session_id}/download")
    assert answer.headers["Content-Type"] == "application/zip"
    assert re.search(r'filename="tape-slt-\d{4}-\d\d-\d\d\.zip"', answer.headers["Content-Disposition"])
    with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
        assert found.testzip() is None
        whole = found.namelist()[-1]
        assert whole.startswith("tape-slt-")
        assert found.namelist() == [
            "meta.json", "recording.json", "audio/0000.wav", "audio/0001.wav", whole,
        ]  # fmt: skip
        meta = json.loads(found.read("meta.json"))
        assert (meta["title"], meta["comment"], meta["state"]) == ("Tape", "Ö <b>", "complete")
        assert "10.0.0.1" not in found.read("meta.json").decode(), "the address of its owner stays here"
        assert len(json.loads(found.read("recording.json"))["utterances"]) == 2
        assert wav_samples(found.read(whole)) == PCM + PCM[:100]


async def test_the_zip_is_made_piece_by_piece(clients: Clients, tmp_path: Path) -> None:
    session_id = await clients.record("10.0.0.1")
    folder = clients.gateway.recorder.folder / session_id
    (folder / "audio" / "0001.wav").write_bytes(bytes(20 << 20))
    sizes = [len(piece) for piece in stream_zip([Part(folder, {}, "tape")])]
    assert sum(sizes) > 20 << 20 and max(sizes) <= 1 << 20


def test_there_is_a_zip_before_the_clock_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meta.json").write_text("{}")
    monkeypatch.setattr(archive, "time", SimpleNamespace(gmtime=lambda: time.gmtime(60)))
    content = b"".join(stream_zip([Part(tmp_path, {}, "tape")]))
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        assert found.testzip() is None and "meta.json" in found.namelist()


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
