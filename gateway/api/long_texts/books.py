"""`/api/books`: texts in blocks, each spoken by itself, to write, make, hear, choose and export."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request, Response

from gateway.api.permissions import MUTATION, owner_of, seen_by, who_changes
from gateway.api.transfer.repeats import KeyDep, asked_for
from gateway.bodies import MOST_BODY_VALUES, validate_in_turns
from gateway.books import Books
from gateway.books.changes import Revision, parse_revision
from gateway.books.listing import describe, describe_row
from gateway.books.request import (
    Block,
    BlocksChange,
    BookChange,
    MakeRequest,
    NewBlock,
    NewBook,
    TakeChoice,
    TakeRequest,
    check_number,
    check_pronunciations,
)
from gateway.books.service import unknown_block
from gateway.books.store import gone, is_book_id
from gateway.database import Book, BookBlock, Job
from gateway.database.repeats import made_once
from gateway.errors import ApiError
from gateway.service import GatewayDep
from gateway.sessions.listing import page, parse_cursor
from gateway.settings import GatewaySettings

PATH = "/api/books"
UPLOAD_SECONDS = 60.0
_BYTES_OF_A_BLOCK = 512
"""In JSON, beside its text."""
_VALUES_OF_A_BLOCK = 10
router = APIRouter(prefix=PATH)


def most_bytes(settings: GatewaySettings) -> int:
    """The largest body in bytes: JSON spells few characters in more than six."""
    return 6 * settings.max_job_characters + _BYTES_OF_A_BLOCK * settings.max_book_blocks + (1 << 20)


def most_values(settings: GatewaySettings) -> int:
    """Of the largest body: a block may have words that are said otherwise."""
    return _VALUES_OF_A_BLOCK * settings.max_book_blocks + MOST_BODY_VALUES


async def _given_blocks(request: Request) -> list[Any]:
    """The blocks of a body, which has been read by now; those of one that FastAPI refuses are none."""
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        return []
    blocks = body.get("blocks") if isinstance(body, dict) else None
    return blocks if isinstance(blocks, list) else []


async def _books(request: Request) -> Books:
    return request.app.state.books


BooksDep = Annotated[Books, Depends(_books)]


def _in_turn(kind: type[NewBlock]) -> Any:
    """A turn for a body with blocks, of which some are looked at at a time. What waits is plain JSON: models
    and rows of forty books held up everybody for 0.3 s whenever Python went through them for garbage.

    Raises ApiError: 401, 403, 422 for too many blocks, or pronunciations, 503.
    """

    async def take(request: Request, gateway: GatewayDep, books: BooksDep) -> AsyncIterator[None]:
        blocks = await _given_blocks(request)
        check_number(len(blocks), gateway.settings)
        check_pronunciations(blocks)
        async with books.turns.take(who_changes(request, gateway)[0], len(blocks)):
            await validate_in_turns(kind, blocks)
            yield

    return Depends(take, scope="function")


async def _own_book(id: str, request: Request, gateway: GatewayDep, books: BooksDep) -> Book:
    """The book of a path. Raises ApiError: 404 for who may not see it; 401, 403 for nobody known."""
    return seen_by(await books.store.get(id), request, gateway, gone())[0]


OwnBook = Annotated[Book, Depends(_own_book)]


async def _block_of(block: str, book: OwnBook, books: BooksDep) -> BookBlock:
    found = await books.store.block(book.id, block)
    if found is None:
        raise unknown_block()
    return found


OwnBlock = Annotated[BookBlock, Depends(_block_of)]
SinceQuery = Annotated[str, Query(max_length=64)]


async def take_of(books: Books, block: BookBlock, take_id: str) -> Job:
    """Raises ApiError 404."""
    found = await books.takes.one(block, take_id)
    if found is None:
        raise ApiError(404, "unknown_take", "the block has no such take", param="take")
    return found


async def _whole(
    books: Books, book_id: str, owner: str, status: int = 200, since: Revision | None = None
) -> Response:
    """The answer that tells all of a book, or what changed in it."""
    async with books.turns.take(owner):
        return await _told(books, book_id, status, since)


async def _told(books: Books, book_id: str, status: int = 200, since: Revision | None = None) -> Response:
    """The same within a turn."""
    found = await books.read(book_id, since)
    told = await asyncio.to_thread(lambda: json.dumps(describe(found), ensure_ascii=False).encode())
    headers = {"Location": f"{PATH}/{book_id}"} if status == 201 else {}
    return Response(told, status, headers, "application/json")


@router.get("")
async def list_books(
    request: Request,
    gateway: GatewayDep,
    books: BooksDep,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=64)] = None,
) -> dict[str, Any]:
    """One's own books, the newest first, without their blocks."""
    cursor = parse_cursor(before, is_book_id) if before is not None else None
    rows = await books.store.list(owner_of(request, gateway), limit, cursor)
    progress = await books.progress([row.id for row in rows])
    described, after = page(rows, lambda row: describe_row(row, progress[row.id]), limit, owners=False)
    return {"books": described, "next_before": after}


@router.post("", dependencies=[MUTATION, _in_turn(NewBlock)], status_code=201, response_class=Response)
async def create_book(
    order: NewBook, request: Request, gateway: GatewayDep, books: BooksDep, key: KeyDep = None
) -> Response:
    """A new book of these blocks; nothing of it is spoken yet."""
    owner = owner_of(request, gateway)
    asked = asked_for(key, owner, order)
    book = await made_once(gateway.database, Book, asked, lambda: books.create(order, owner, asked))
    return await _told(books, book.id, 201)


@router.get("/{id}", response_class=Response)
async def get_book(book: OwnBook, books: BooksDep, since: SinceQuery = "") -> Response:
    """All of a book: its blocks, their takes, how far it is. `since` a `revision`: what changed alone."""
    return await _whole(books, book.id, book.owner, since=parse_revision(since))


@router.patch("/{id}", dependencies=[MUTATION], response_class=Response)
async def change_book(change: BookChange, book: OwnBook, books: BooksDep) -> Response:
    """Set title, voice or language; what is left out stays."""
    await books.change(book, change)
    return await _whole(books, book.id, book.owner)


@router.delete("/{id}", dependencies=[MUTATION], status_code=204)
async def delete_book(book: OwnBook, books: BooksDep) -> None:
    """Remove a book with its takes."""
    async with books.turns.take(book.owner):
        await books.remove(book.id)


@router.put("/{id}/blocks", dependencies=[MUTATION, _in_turn(Block)], response_class=Response)
async def put_blocks(change: BlocksChange, book: OwnBook, books: BooksDep) -> Response:
    """Have these blocks in this order. Blocks that are missing go with their takes."""
    await books.replace(book, change)
    return await _told(books, book.id)


@router.post("/{id}/make", dependencies=[MUTATION], status_code=202, response_class=Response)
async def make_book(
    book: OwnBook, books: BooksDep, order: Annotated[MakeRequest | None, Body()] = None
) -> Response:
    """Speak blocks: those that are named, else all that have no take of what they say now."""
    async with books.turns.take(book.owner):
        await books.make(book, order.blocks if order else None)
    return await _whole(books, book.id, book.owner, 202)


@router.delete("/{id}/make", dependencies=[MUTATION], response_class=Response)
async def stop_book(book: OwnBook, books: BooksDep) -> Response:
    """Drop takes that wait or are being made."""
    async with books.turns.take(book.owner):
        await books.stop(book)
    return await _whole(books, book.id, book.owner)


@router.post("/{id}/blocks/{block}/takes", dependencies=[MUTATION], status_code=202, response_class=Response)
async def add_take(
    book: OwnBook, block: OwnBlock, books: BooksDep, order: Annotated[TakeRequest | None, Body()] = None
) -> Response:
    """Speak a block once more, before what waits already. The same seed makes the same take."""
    await books.take_again(book, block, order.seed if order else None)
    return await _whole(books, book.id, book.owner, 202)


@router.put("/{id}/blocks/{block}/take", dependencies=[MUTATION], response_class=Response)
async def choose_take(choice: TakeChoice, book: OwnBook, block: OwnBlock, books: BooksDep) -> Response:
    """Choose the take that is heard."""
    await books.choose(block, await take_of(books, block, choice.take))
    return await _whole(books, book.id, book.owner)


@router.delete("/{id}/blocks/{block}/takes/{take}", dependencies=[MUTATION], status_code=204)
async def delete_take(take: str, block: OwnBlock, books: BooksDep) -> None:
    """Remove a take."""
    await books.remove_take(await take_of(books, block, take))
