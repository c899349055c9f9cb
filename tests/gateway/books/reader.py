"""A client with one book."""

from __future__ import annotations

from typing import Any

import httpx

from tests.gateway.jobs.stage import RATE, Service
from tests.gateway.stages.processes import eventually

BLOCKS = [
    {"kind": "chapter", "text": "One", "pause_ms": 1000},
    {"text": "They walked.", "voice": "default"},
    {"text": "* * *", "pause_ms": 500},
    {"kind": "chapter", "text": "Two", "pause_ms": 0},
    {"text": "Home again.", "pause_ms": 250},
]
BOOK = {"title": "Der Weg \u2192", "blocks": BLOCKS}
SPOKEN = [block["text"] for block in BLOCKS if block["text"] != "* * *"]


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
