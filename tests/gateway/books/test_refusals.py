"""What is refused: books of others, and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.gateway.books.reader import BOOK, written
from tests.gateway.jobs.stage import reading_worker, running
from tests.gateway.stages.processes import check_error

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
            assert (await stranger.get("/api/books")).json() == {"books": [], "next_before": None}
        before = reader.book
        assert await reader.call("GET") == before
        async with service.at(headers={"Origin": "http://evil.example"}) as foreign:
            for method, path, body in calls:
                if method != "GET":
                    answer = await foreign.request(method, reader.path + path, json=body)
                    assert answer.status_code == 403, (method, path)


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


async def test_that_there_are_too_many_blocks_is_seen_before_they_are_looked_at(tmp_path: Path) -> None:
    """S20: a megabyte and a half of short ones held up everybody for most of a second."""
    async with running(tmp_path, working=False, max_book_blocks=5) as service, service.at() as http:
        reader = await written(service, http)
        wrong = [{"text": ""}] * 6
        for answer in (
            await http.post("/api/books", json={**BOOK, "blocks": wrong}),
            await http.put(f"{reader.path}/blocks", json={"version": 1, "blocks": wrong}),
        ):
            error = check_error(answer, 422)
            assert error["code"] == "too_many_blocks"
            assert error["message"] == "blocks: a book has at most 5, not 6"
        wordy = [{"text": "", "pronunciations": {f"w{number}": "" for number in range(6700)}}] * 3
        for answer in (
            await http.post("/api/books", json={**BOOK, "blocks": wordy}),
            await http.put(f"{reader.path}/blocks", json={"version": 1, "blocks": wordy}),
        ):
            message = check_error(answer, 422)["message"]
            assert message == "blocks: a book has at most 20000 pronunciations, not 20100"
        for body in (b"{", b"[]", b'{"blocks": 6}', b'{"blocks": [6, {"pronunciations": 6}]}'):
            answer = await http.post("/api/books", content=body, headers={"Content-Type": "text/plain"})
            check_error(answer, 422)
