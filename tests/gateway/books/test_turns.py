"""Whole books are read and written one after the other, and their owners take turns."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.api.long_texts import books as books_api
from gateway.books import Books, turns
from gateway.books.changes import Revision
from gateway.books.service import Told
from gateway.books.turns import OwnersTurns
from gateway.database import Book
from gateway.errors import ApiError
from tests.gateway.jobs.stage import running


async def test_owners_take_turns_however_much_one_of_them_asks_for() -> None:
    line, order = OwnersTurns(), []

    async def work(owner: str, number: int) -> None:
        async with line.take(owner):
            order.append((owner, number))
            await asyncio.sleep(0)

    asked = [("ann", number) for number in range(4)] + [("bob", number) for number in range(2)]
    await asyncio.gather(*(work(*each) for each in asked))
    assert order == [("ann", 0), ("bob", 0), ("ann", 1), ("bob", 1), ("ann", 2), ("ann", 3)]


async def test_who_waits_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all would wait for one whom a database that is stuck does not answer."""
    held = OwnersTurns()
    async with held.take("ann"):
        monkeypatch.setattr(turns, "WAIT_SECONDS", 0)
        for owner in ("ann", "bob"):
            with pytest.raises(ApiError) as refused:
                async with held.take(owner):
                    pytest.fail("it has two turns at once")
            assert (refused.value.status_code, refused.value.code) == (503, "busy")
    for owner in ("ann", "bob"):
        async with held.take(owner):
            pass


async def test_whose_line_is_long_is_told_at_once_when_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forty books of 10,000 blocks those that could not be written in time were refused after 30 s."""
    now = [0.0]
    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: now[0]))
    line = OwnersTurns()
    async with line.take("ann", 10_000):
        now[0] += 18.0
    async with AsyncExitStack() as waiting:
        await waiting.enter_async_context(line.take("ann", 20_000))
        with pytest.raises(ApiError) as refused:
            async with line.take("ann", 1):
                pytest.fail("it has two turns at once")
        assert (refused.value.code, refused.value.headers["Retry-After"]) == ("busy", "19")
        others = [asyncio.create_task(_turn(line, "bob", 10_000)), asyncio.create_task(_turn(line, "ann", 0))]
        await asyncio.sleep(0)
        assert not any(other.done() for other in others)
    await asyncio.gather(*others)
    await _turn(line, "ann", 1)


async def _turn(line: OwnersTurns, owner: str, blocks: int) -> None:
    async with line.take(owner, blocks):
        pass


async def test_of_many_requests_for_all_of_a_book_one_is_answered_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty for one of 10,000 blocks, or with it, held up everybody for half a second and more."""
    reading, read = [], Books.read

    async def noted(self: Books, book_id: str, since: Revision | None) -> Told:
        reading.append(book_id)
        found = await read(self, book_id, since)
        assert len(reading) == 1
        reading.pop()
        return found

    monkeypatch.setattr(Books, "read", noted)
    block = {"kind": "paragraph", "text": "Hello."}
    async with running(tmp_path, working=False) as service, service.at() as http:
        book = (await http.post("/api/books", json={"title": "One", "blocks": [block]})).json()
        path = f"/api/books/{book['id']}"
        answers = await asyncio.gather(
            *(http.get(path) for _ in range(5)),
            http.post("/api/books", json={"title": "Two", "blocks": [block]}),
            http.put(f"{path}/blocks", json={"version": 1, "blocks": [block]}),
            http.delete(f"{path}/make"),
        )
    assert {answer.status_code for answer in answers} == {200, 201}


async def test_of_many_new_books_one_is_more_than_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python went through the models of forty for garbage, and nobody heard anything for 0.3 s."""
    steps: list[str] = []
    look_at, create = books_api.validate_in_turns, Books.create

    async def looking(*arguments: Any) -> None:
        steps.append("looked at")
        await look_at(*arguments)

    async def creating(self: Books, *arguments: Any) -> Book:
        book = await create(self, *arguments)
        steps.append("made")
        return book

    monkeypatch.setattr(books_api, "validate_in_turns", looking)
    monkeypatch.setattr(Books, "create", creating)
    order = {"title": "A", "blocks": [{"text": "Hello."}] * 300}
    async with running(tmp_path, working=False) as service, service.at() as http:
        answers = await asyncio.gather(*(http.post("/api/books", json=order) for _ in range(4)))
    assert [answer.status_code for answer in answers] == [201] * 4
    assert steps == ["looked at", "made"] * 4
