"""Whole books are read and written one after the other, and their owners take turns."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.api.long_texts import books as books_api
from gateway.books import Books
from gateway.books.changes import Revision
from gateway.books.service import Told
from gateway.database import Book
from tests.gateway.jobs.stage import running


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
