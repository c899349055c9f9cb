"""Books: made block by block, heard and made again, kept through restarts, and gone when they are deleted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import av
import httpx
import pytest
import soundfile

from gateway.jobs import sweep
from tests.gateway.jobs.stage import RATE, Service, reading_worker, running
from tests.gateway.processes import check_error, eventually
from tests.gateway.scripted_worker import Act, frames_of
from worker.protocol import ErrorDetail, StartRequest

SLOW = {"frame_timeout_seconds": 30, "stall_timeout_seconds": 30}
BLOCKS = [
    {"kind": "chapter", "text": "One", "pause_ms": 1000},
    {"text": "They walked.", "voice": "default"},
    {"text": "* * *", "pause_ms": 500},
    {"kind": "chapter", "text": "Two", "pause_ms": 0},
    {"text": "Home again.", "pause_ms": 250},
]
BOOK = {"title": "Der Weg \u2192", "blocks": BLOCKS}
SPOKEN = [block["text"] for block in BLOCKS if block["text"] != "* * *"]


def pcm_of(text: str, seed: int) -> bytes:
    return b"".join(frame.pcm for frame in frames_of(StartRequest(request_id="r", text=text, seed=seed)))


def silence(milliseconds: int) -> bytes:
    return bytes(2 * RATE * milliseconds // 1000)


class Reader:
    """A client with one book."""

    def __init__(self, http: httpx.AsyncClient, book: dict[str, Any]) -> None:
        self.http = http
        self.book = book
        self.path = f"/api/books/{book['id']}"

    async def call(self, method: str, path: str = "", status: int = 200, **options: Any) -> dict[str, Any]:
        """The book as it is told afterwards."""
        answer = await self.http.request(method, self.path + path, **options)
        assert answer.status_code == status, answer.text
        if answer.content:
            self.book = answer.json()
        return self.book

    async def until(self, **progress: int) -> dict[str, Any]:
        async def poll() -> dict[str, Any] | None:
            found = (await self.call("GET"))["progress"]
            return self.book if found == {**found, **progress} else None

        return await eventually(poll, f"the book is not at {progress}")

    async def made(self) -> dict[str, Any]:
        await self.call("POST", "/make", 202)
        return await self.until(ready=len(self.book["blocks"]), making=0, queued=0)

    async def export(self, format: str) -> bytes:
        answer = await self.http.get(f"{self.path}/export", params={"format": format})
        assert answer.status_code == 200, answer.text
        return answer.content

    def block(self, number: int) -> str:
        return f"/blocks/{self.book['blocks'][number]['id']}"

    def takes(self, number: int) -> list[dict[str, Any]]:
        return self.book["blocks"][number]["takes"]

    def edited(self, number: int, **fields: Any) -> dict[str, Any]:
        """The body that changes a block."""
        blocks = [
            {name: value for name, value in block.items() if name not in ("takes", "take", "stale")}
            for block in self.book["blocks"]
        ]
        blocks[number] |= fields
        return {"version": self.book["version"], "blocks": blocks}


async def written(service: Service, http: httpx.AsyncClient, **fields: Any) -> Reader:
    answer = await http.post("/api/books", json={**BOOK, **fields})
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == f"/api/books/{answer.json()['id']}"
    return Reader(http, answer.json())


async def test_a_book_is_made_block_by_block_and_exported_in_order(tmp_path: Path) -> None:
    worker = reading_worker()
    async with running(tmp_path, worker) as service, service.at() as http:
        reader = await written(service, http)
        assert reader.book["progress"] == {
            "blocks": 5, "ready": 1, "making": 0, "queued": 0, "failed": 0, "seconds_left": None
        }  # fmt: skip
        error = check_error(await http.get(f"{reader.path}/export"), 409)
        assert error["message"].endswith("blocks without a take: 1, 2, 4, 5")
        await reader.made()
        files = {name: await reader.export(name) for name in ("pcm", "wav", "mp3", "m4b", "srt", "vtt")}
        assert files["m4b"] == await reader.export("m4b")
        (listed,) = (await http.get("/api/books")).json()["books"]
        jobs = (await http.get("/api/jobs")).json()["jobs"]
        hidden = await http.get(f"/api/jobs/{reader.takes(0)[0]['id']}")
        named = await http.get(f"{reader.path}/export", params={"format": "srt"})
    assert sorted(start.text for start in worker.requests) == sorted(SPOKEN)
    assert (listed["title"], listed["progress"]["ready"]) == ("Der Weg \u2192", 5)
    assert listed["characters"] == sum(len(block["text"]) for block in BLOCKS)
    assert jobs == [] and check_error(hidden, 404)
    assert "filename*=UTF-8''Der%20Weg%20%E2%86%92.srt" in named.headers["Content-Disposition"]
    whole = b""
    for number, block in enumerate(BLOCKS):
        if number != 2:
            (take,) = reader.takes(number)
            assert take["state"] == "ready" and take["progress"] == 1.0 and not take["stale"]
            assert reader.book["blocks"][number]["take"] == take["id"]
            whole += pcm_of(block["text"], take["seed"])
        whole += silence(block.get("pause_ms", 700))
    assert files["pcm"] == whole
    check_files(files, whole)


def check_files(files: dict[str, bytes], whole: bytes) -> None:
    samples, rate = soundfile.read(io.BytesIO(files["wav"]), dtype="int16")
    assert rate == RATE and samples.tobytes() == whole
    seconds = len(whole) / 2 / RATE
    for name in ("mp3", "m4b"):
        with av.open(io.BytesIO(files[name])) as file:
            stream = file.streams.audio[0]
            decoded = sum(frame.samples for frame in file.decode(stream)) / stream.rate
            chapters = [(mark["metadata"]["title"], mark["start"]) for mark in file.chapters()]
            assert file.metadata["title"] == "Der Weg \u2192"
        assert decoded == pytest.approx(seconds, abs=0.2), name
        assert [title for title, _ in chapters] == ["One", "Two"] and chapters[0][1] == 0
    cues = files["srt"].decode().split("\n\n")
    assert [cue.splitlines()[2] for cue in cues] == ["One", "They walked.", "Two", "Home again."]
    assert files["vtt"].startswith(b"WEBVTT\n\n00:00:00.000 --> ")
    starts = [cue.splitlines()[1].partition(" ")[0] for cue in cues]
    assert starts == sorted(starts) and starts[1] > "00:00:01"


async def test_a_block_is_made_again_and_one_of_its_takes_is_chosen(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service, service.at() as http:
        reader = await written(service, http)
        await reader.made()
        (first,) = reader.takes(1)
        await reader.call("POST", f"{reader.block(1)}/takes", 202, json={"seed": 7})
        await reader.until(making=0, queued=0)
        first, second = reader.takes(1)
        assert (second["seed"], reader.book["blocks"][1]["take"]) == (7, first["id"])
        await reader.call("PUT", f"{reader.block(1)}/take", json={"take": second["id"]})
        assert reader.book["blocks"][1]["take"] == second["id"]
        assert pcm_of("They walked.", 7) in await reader.export("pcm")
        audio = f"{reader.path}{reader.block(1)}/takes/{second['id']}/audio"
        pcm = await http.get(audio, params={"format": "pcm"})
        assert pcm.content == pcm_of("They walked.", 7)
        assert (await http.get(audio, params={"format": "mp3"})).headers["Content-Type"] == "audio/mpeg"
        words = f"{audio.removesuffix('audio')}words"
        told = (await http.get(f"{words}.json")).json()
        assert [word["text"] for word in told["words"]] == ["They", "walked."]
        assert (await http.get(f"{words}.srt")).text.startswith("1\n00:00:00,")
        check_error(await http.get(f"{words}.exe"), 404)
        check_error(await http.get(audio, params={"format": "exe"}), 422)
        check_error(await http.get(audio, params={"format": "m4b"}), 422)
        check_error(await http.post(f"{reader.path}{reader.block(2)}/takes"), 422)
        await reader.call("DELETE", f"{reader.block(1)}/takes/{second['id']}", 204)
        await reader.call("GET")
        assert [take["id"] for take in reader.takes(1)] == [first["id"]]
        assert reader.book["blocks"][1]["take"] == first["id"]
        assert not service.jobs.files(second["id"]).folder.exists()


async def test_what_is_changed_is_stale_until_it_is_made_again(tmp_path: Path) -> None:
    worker = reading_worker()
    async with running(tmp_path, worker) as service, service.at() as http:
        reader = await written(service, http)
        await reader.made()
        old = reader.book["blocks"][1]["take"]
        stale = reader.edited(1, text="They ran.", pronunciations={"ran": "rahn"})
        await reader.call("PUT", "/blocks", json=stale)
        assert reader.book["blocks"][1]["stale"] and reader.book["progress"]["ready"] == 4
        check_error(await http.put(f"{reader.path}/blocks", json=stale), 409)
        assert pcm_of("They walked.", reader.takes(1)[0]["seed"]) in await reader.export("pcm")
        spoken = len(worker.requests)
        await reader.made()
        assert [start.text for start in worker.requests[spoken:]] == ["They rahn."]
        block = reader.book["blocks"][1]
        assert not block["stale"] and block["take"] != old
        assert [take["stale"] for take in block["takes"]] == [True, False]
        await reader.call("PUT", "/blocks", json=reader.edited(1, pause_ms=3))
        assert not reader.book["blocks"][1]["stale"]
        await reader.call("PUT", f"{reader.block(1)}/take", json={"take": old})
        assert (reader.book["blocks"][1]["take"], reader.book["blocks"][1]["stale"]) == (old, True)
        await reader.call("PATCH", json={"language": "de"})
        assert reader.book["progress"]["ready"] == 1
        with_fewer = reader.edited(0)
        gone = [take["id"] for take in reader.takes(1)]
        with_fewer["blocks"] = [with_fewer["blocks"][4], {"text": "New."}, with_fewer["blocks"][0]]
        await reader.call("PUT", "/blocks", json=with_fewer)
        assert [block["text"] for block in reader.book["blocks"]] == ["Home again.", "New.", "One"]
        assert not any(service.jobs.files(take).folder.exists() for take in gone)


async def test_a_take_says_what_its_block_says_when_it_begins(tmp_path: Path) -> None:
    worker = reading_worker()
    async with running(tmp_path, worker, working=False) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202, json={"blocks": [reader.book["blocks"][1]["id"]]})
        await reader.call("PUT", "/blocks", json=reader.edited(1, text="They ran."))
        await reader.call("POST", "/make", 202, json={"blocks": [reader.book["blocks"][1]["id"]]})
        assert len(reader.takes(1)) == 1 and reader.book["progress"]["queued"] == 1
        async with service.jobs.running():
            await reader.until(ready=2)
        assert [start.text for start in worker.requests] == ["They ran."]
        assert not reader.book["blocks"][1]["stale"]


async def test_what_is_asked_for_by_itself_goes_first(tmp_path: Path) -> None:
    worker = reading_worker()
    options = {"working": False, "jobs_at_once": 1}
    async with running(tmp_path, worker, **options) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202)
        await reader.call("POST", f"{reader.block(4)}/takes", 202)
        async with service.jobs.running():
            await reader.until(making=0, queued=0)
    assert [start.text for start in worker.requests] == ["Home again.", *SPOKEN]


async def test_a_book_goes_on_after_a_restart_and_another_gateway_sees_it(tmp_path: Path) -> None:
    first, second = reading_worker(Act(), Act(1, "hang")), reading_worker()
    async with running(tmp_path, first, jobs_at_once=1, **SLOW) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202)
        await reader.until(ready=2, making=1, queued=2)
        assert reader.book["progress"]["seconds_left"] is not None
        kept = reader.takes(0)
    async with running(tmp_path, second) as service, service.at() as http:
        reader.http = http
        await reader.until(ready=5, making=0, queued=0)
        assert reader.takes(0) == kept
        whole = await reader.export("pcm")
        assert pcm_of("They walked.", reader.takes(1)[0]["seed"]) in whole
    assert sorted(start.text for start in second.requests) == sorted(SPOKEN[1:])


async def test_what_waits_is_stopped_and_what_failed_is_made_again(tmp_path: Path) -> None:
    refused = ErrorDetail(message="too odd", type="invalid_request_error", param="text", code="too_odd")
    worker = reading_worker(Act(refusal=refused), Act(1, "hang"), Act())
    async with running(tmp_path, worker, jobs_at_once=1, **SLOW) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202)
        await reader.until(failed=1, making=1)
        assert reader.takes(0)[0]["error"] == {"code": "too_odd", "message": "too odd"}
        await reader.call("DELETE", "/make")
        assert reader.book["progress"] | {"making": 0, "queued": 0} == reader.book["progress"]
        assert not service.gateway.pool.tickets
        await reader.made()
        assert [len(reader.takes(number)) for number in range(5)] == [1, 1, 0, 1, 1]


async def test_a_deleted_book_leaves_nothing(tmp_path: Path) -> None:
    """S14: neither in the database nor in a folder, while a take of it is made."""
    canary = "The canary sang."
    worker = reading_worker(Act(), Act(1, "hang"))
    async with running(tmp_path, worker, jobs_at_once=1, **SLOW) as service, service.at() as http:
        reader = await written(service, http, title=canary, blocks=[{"text": canary}, {"text": "More."}])
        await reader.call("POST", "/make", 202)
        await reader.until(ready=1, making=1)
        await reader.call("PUT", "/blocks", json=reader.edited(0, text="Nothing."))
        await reader.call("DELETE", "", 204)
        check_error(await http.get(reader.path), 404)
        assert not service.gateway.pool.tickets
        assert not any(files_with(canary, tmp_path / "data"))
        assert list(service.jobs.folder.iterdir()) == []


def files_with(text: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def test_a_book_belongs_to_its_owner(tmp_path: Path) -> None:
    """S11: nobody else sees, changes or hears it."""
    async with running(tmp_path, reading_worker()) as service, service.at() as http:
        reader = await written(service, http)
        await reader.made()
        take = f"{reader.block(0)}/takes/{reader.takes(0)[0]['id']}"
        other = await written(service, http)
        for path in (other.path + take, f"{other.path}{reader.block(0)}/takes"):
            check_error(await http.request("DELETE" if path.endswith(take) else "POST", path), 404)
        calls = [
            ("GET", "", None), ("PATCH", "", {"title": "Mine"}), ("DELETE", "", None),
            ("PUT", "/blocks", {"version": 1, "blocks": []}), ("POST", "/make", {}),
            ("DELETE", "/make", None),
            ("POST", f"{reader.block(0)}/takes", {}), ("DELETE", take, None), ("GET", f"{take}/audio", None),
            ("PUT", f"{reader.block(0)}/take", {"take": reader.takes(0)[0]["id"]}), ("GET", "/export", None),
        ]  # fmt: skip
        async with service.at("10.9.9.9") as stranger:
            for method, path, body in calls:
                answer = await stranger.request(method, reader.path + path, json=body)
                assert check_error(answer, 404)["code"] == "unknown_book", (method, path)
            assert (await stranger.get("/api/books")).json() == {"books": []}
        before = reader.book
        assert await reader.call("GET") == before
        async with service.at(headers={"Origin": "http://evil.example"}) as foreign:
            for method, path, body in calls:
                if method != "GET":
                    answer = await foreign.request(method, reader.path + path, json=body)
                    assert answer.status_code == 403, (method, path)


WRONG: list[tuple[dict[str, Any], int, str]] = [
    ({"title": ""}, 422, "title"),
    ({"title": "x" * 161}, 422, "title"),
    ({"voice": "nobody\0"}, 422, "voice"),
    ({"language": "Klingon!"}, 422, "language"),
    ({"blocks": [{"text": ""}]}, 422, "blocks.0.text"),
    ({"blocks": [{"text": "\0"}]}, 422, "blocks.0.text"),
    ({"blocks": [{"text": "A.", "kind": "poem"}]}, 422, "blocks.0.kind"),
    ({"blocks": [{"text": "A.", "pause_ms": 10_001}]}, 422, "blocks.0.pause_ms"),
    ({"blocks": [{"text": "A.", "pronunciations": {"a": ""}}]}, 422, "blocks.0.pronunciations"),
    ({"blocks": [{"text": "A.", "takes": []}]}, 422, "blocks.0.takes"),
    ({"blocks": [{"text": "A."}] * 6}, 422, "blocks"),
    ({"blocks": [{"text": "x" * 101}]}, 422, "blocks"),
]


async def test_what_is_wrong_is_refused_by_name(tmp_path: Path) -> None:
    limits = {"max_job_characters": 100, "max_book_blocks": 5, "max_books_per_owner": 1}
    async with running(tmp_path, working=False, **limits) as service, service.at() as http:
        for fields, status, param in WRONG:
            answer = await http.post("/api/books", json={**BOOK, **fields})
            assert check_error(answer, status)["param"] == param, answer.text
        reader = await written(service, http)
        assert check_error(await http.post("/api/books", json=BOOK), 429)["code"] == "too_many_books"
        unknown = reader.edited(1, id="p_unknown")
        assert check_error(await http.put(f"{reader.path}/blocks", json=unknown), 422)
        twice = reader.edited(1, id=reader.book["blocks"][0]["id"])
        error = check_error(await http.put(f"{reader.path}/blocks", json=twice), 422)
        assert error["param"] == "blocks.1.id"
        check_error(await http.post(f"{reader.path}/make", json={"blocks": ["p_unknown"]}), 404)
        check_error(await http.get(f"{reader.path}/export", params={"format": "exe"}), 422)
        check_error(await http.get("/api/books/..%2f..%2fsecret"), 404)
        await reader.call("GET")
        assert reader.book["version"] == 1


async def test_voices_that_nobody_has_are_refused(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker(), working=False) as service, service.at() as http:
        reader = await written(service, http)
        answers = [
            await http.post("/api/books", json={**BOOK, "voice": "nobody"}),
            await http.post("/api/books", json={**BOOK, "blocks": [{"text": "A.", "voice": "nobody"}]}),
            await http.patch(reader.path, json={"voice": "nobody"}),
            await http.put(f"{reader.path}/blocks", json=reader.edited(1, voice="nobody")),
        ]
        for answer in answers:
            error = check_error(answer, 404)
            assert (error["code"], error["param"]) == ("unknown_voice", "voice")


async def test_takes_are_bounded_by_number_and_bytes(tmp_path: Path) -> None:
    limits = {"max_block_takes": 2, "session_max_owner_gb": 1e-4, "working": False}
    async with running(tmp_path, reading_worker(), **limits) as service, service.at() as http:
        reader = await written(service, http, blocks=[{"text": "A."}, {"text": "B. " * 20}])
        for _ in range(2):
            await reader.call("POST", f"{reader.block(0)}/takes", 202)
        answer = await http.post(f"{reader.path}{reader.block(0)}/takes")
        assert check_error(answer, 409)["code"] == "too_many_takes"
        answer = await http.post(f"{reader.path}/make")
        assert check_error(answer, 507)["code"] == "storage_full"


async def test_books_go_by_age_with_their_takes(tmp_path: Path) -> None:
    options = {"session_retention_days": 1e-9, "working": False}
    async with running(tmp_path, reading_worker(), **options) as service, service.at() as http:
        waiting, idle = await written(service, http), await written(service, http)
        await waiting.call("POST", "/make", 202)
        await sweep.sweep(service.jobs, service.gateway)
        assert [book["id"] for book in (await http.get("/api/books")).json()["books"]] == [waiting.book["id"]]
        await waiting.call("DELETE", "/make")
        await sweep.sweep(service.jobs, service.gateway)
        assert (await http.get("/api/books")).json() == {"books": []}
        assert json.loads((await http.get(idle.path)).content)["error"]["code"] == "unknown_book"
