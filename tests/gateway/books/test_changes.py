"""What is told of a book to who knows how it was: a page that watches one being made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.books import changes
from tests.gateway.books.reader import Reader, written
from tests.gateway.jobs.stage import reading_worker, running
from tests.gateway.stages.processes import check_error


@pytest.fixture
def no_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_OVERLAP_US", 0)


async def since(reader: Reader, revision: str) -> dict[str, Any]:
    answer = await reader.http.get(reader.path, params={"since": revision})
    assert answer.status_code == 200, answer.text
    return answer.json()


def places(reader: Reader, told: dict[str, Any]) -> list[int]:
    ids = [block["id"] for block in reader.book["blocks"]]
    return [ids.index(block["id"]) for block in told["blocks"]]


async def test_a_book_that_is_made_is_told_by_the_blocks_that_changed(
    tmp_path: Path, no_overlap: None
) -> None:
    async with running(tmp_path, working=False) as service, service.at() as http:
        reader = await written(service, http)
        assert reader.book["partial"] is False
        await reader.call("POST", "/make", 202)
        await reader.call("GET")
        revision = reader.book["revision"]
        nothing = await since(reader, revision)
        assert (nothing["blocks"], nothing["partial"], nothing["revision"]) == ([], True, revision)
        assert nothing["progress"] == reader.book["progress"]
        for number, columns in ((4, {"state": "running"}), (1, {"state": "complete"})):
            await service.jobs.store.change(reader.takes(number)[0]["id"], ("queued",), **columns)
        told = await since(reader, revision)
        assert (places(reader, told), told["partial"]) == ([1, 4], True)
        assert [block["takes"][0]["state"] for block in told["blocks"]] == ["ready", "making"]
        assert (told["progress"]["making"], told["progress"]["queued"]) == (1, 2)
        whole = await reader.call("GET")
        assert [whole["blocks"][number] for number in (1, 4)] == told["blocks"]
        assert (await since(reader, told["revision"]))["blocks"] == []


async def test_what_was_written_just_before_is_told_again(tmp_path: Path) -> None:
    """A transaction with an earlier time may end later, and another gateway's clock may be behind."""
    async with running(tmp_path, working=False) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202)
        await service.jobs.store.change(reader.takes(1)[0]["id"], ("queued",), state="running")
        revision = (await reader.call("GET"))["revision"]
        assert places(reader, await since(reader, revision)) == [1]


async def test_all_of_a_book_is_told_where_more_than_takes_changed(tmp_path: Path, no_overlap: None) -> None:
    async with running(tmp_path, reading_worker()) as service, service.at() as http:
        reader = await written(service, http)
        await reader.made()
        await reader.call("POST", f"{reader.block(1)}/takes", 202, json={"seed": 7})
        await reader.until(making=0, queued=0)
        first, second = (take["id"] for take in reader.takes(1))
        one = reader.block(1)
        for method, path, body in (
            ("PUT", "/blocks", reader.edited(1, text="They ran.")),
            ("PATCH", "", {"language": "de"}),
            ("PUT", f"{one}/take", {"take": second}),
            ("DELETE", f"{one}/takes/{first}", None),
            ("POST", "/make", {}),
        ):
            revision = (await reader.call("GET"))["revision"]
            assert (await since(reader, revision))["blocks"] == []
            await http.request(method, reader.path + path, json=body)
            told = await since(reader, revision)
            assert (told["partial"], len(told["blocks"])) == (False, 5), path
            await reader.until(making=0, queued=0)
        for unknown in ("", "1-2-3", "a-b-c-d", f"{reader.book['revision']}0"):
            assert (await since(reader, unknown))["partial"] is False
        check_error(await http.get(reader.path, params={"since": "1" * 65}), 422)
