"""Books and their takes, on both kinds of database."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.books import store, takes
from gateway.books.progress import progress_of
from gateway.books.request import Block, NewBlock
from gateway.books.store import BookStore
from gateway.books.takes import _BYTES_PER_CHARACTER, Bounds, TakeStore, takes_of
from gateway.database import Book, BookBlock, Database
from gateway.database.tables import now
from gateway.errors import ApiError
from gateway.jobs.store import _FIRST_OF_AN_OWNER, JobStore
from tests.database.postgres import PostgresServer, done_or_waiting

TEXTS = ["One", "They walked.", "* * *"]


@pytest.fixture
async def books(database: Database) -> BookStore:
    store = BookStore(database, 3, 2)
    book = Book(id="b_1", owner="ann", title="The Walk", voice="default")
    await store.add(book, [NewBlock(text=text) for text in TEXTS])
    return store


async def test_a_book_is_kept_changed_and_forgotten(books: BookStore) -> None:
    book, blocks = await books.get("b_1"), await books.blocks("b_1")
    assert [block.text for block in blocks] == TEXTS and [bool(block.said) for block in blocks] == [1, 1, 0]
    takes = TakeStore(books, Bounds(3, 99, None))
    await takes.add(book, blocks[:2], first=False, again=False)
    kept = Block(id=blocks[1].id, text="They ran.", voice="Ann")
    (gone,) = await books.replace("b_1", 1, [kept, Block(text="New.")])
    assert [block.text for block in await books.blocks("b_1")] == ["They ran.", "New."]
    with pytest.raises(ApiError, match="changed meanwhile"):
        await books.replace("b_1", 1, [kept])
    before = [block.said for block in await books.blocks("b_1")]
    await books.change("b_1", {"voice": "Bob"})
    assert [a == b.said for a, b in zip(before, await books.blocks("b_1"), strict=True)] == [True, False]
    (left,) = await books.remove("b_1")
    assert left != gone and await books.blocks("b_1") == [] and await books.get("b_1") is None


async def test_a_block_that_is_gone_by_now_gets_no_take(books: BookStore) -> None:
    """Nobody would delete it, and it would wait for ever."""
    book, blocks = await books.get("b_1"), await books.blocks("b_1")
    await books.replace("b_1", 1, [Block(id=blocks[1].id, text=TEXTS[1])])
    takes = TakeStore(books, Bounds(3, 99, None))
    await takes.add(book, blocks[:2], first=False, again=False)
    assert list(await takes.of("b_1")) == [blocks[1].id]


async def test_blocks_are_replaced_before_takes_are_added_or_after(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(postgres.create_database())
    await database.open()
    books = BookStore(database, 3, 2)
    book = Book(id="b_1", owner="ann", title="The Walk", voice="default")
    await books.add(book, [NewBlock(text=text) for text in TEXTS])
    blocks, takes = await books.blocks("b_1"), TakeStore(books, Bounds(3, 99, None))
    begun: list[asyncio.Task[list[str]]] = []

    async def add_while_it_replaces(session: AsyncSession, *arguments: Any) -> list[str]:
        gone = await remove_blocks(session, *arguments)
        begun.append(asyncio.create_task(takes.add(book, blocks[:2], first=False, again=False)))
        await done_or_waiting(begun[0], session)
        return gone

    remove_blocks = store._remove_blocks
    monkeypatch.setattr(store, "_remove_blocks", add_while_it_replaces)
    await books.replace("b_1", 1, [Block(id=blocks[1].id, text=TEXTS[1])])
    await begun[0]
    assert list(await takes.of("b_1")) == [blocks[1].id]
    await database.close()


async def test_another_take_is_the_later_one_by_a_clock_that_is_behind(
    books: BookStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at another gateway, or once it was set back: what is heard stays until somebody chooses."""
    store = TakeStore(books, Bounds(3, 99, None))
    book, blocks = await books.get("b_1"), await books.blocks("b_1")
    before = now()
    await store.add(book, blocks[:1], first=False, again=False)
    async with books.rows() as rows:
        (first,) = (await takes_of(rows, "b_1"))[blocks[0].id]
    monkeypatch.setattr(takes, "now", lambda: before - timedelta(hours=2))
    await store.add(book, blocks[:1], first=False, again=True)
    async with books.rows() as rows:
        found = (await takes_of(rows, "b_1"))[blocks[0].id]
    assert len(found) == 2 and found[0].id == first.id


async def test_there_are_so_many_books_and_no_more(books: BookStore) -> None:
    def book(number: int, owner: str) -> Book:
        return Book(id=f"b_{number}", owner=owner, title="T", voice="default")

    await books.add(book(2, "ann"), [])
    for number, owner in ((3, "ann"), (4, "bob"), (5, "cid")):
        if owner == "bob":
            await books.add(book(number, owner), [])
            continue
        with pytest.raises(ApiError) as refused:
            await books.add(book(number, owner), [])
        assert refused.value.code == "too_many_books"
    assert [each.id for each in await books.list("ann", 10)] == ["b_2", "b_1"]


async def test_progress_is_told_by_states_and_measured_speed(books: BookStore, database: Database) -> None:
    jobs, takes = JobStore(database, 9, 9), TakeStore(books, Bounds(3, 99, None))
    book, blocks = await books.get("b_1"), await books.blocks("b_1")
    await takes.add(book, blocks[:2], first=False, again=False)
    await takes.add(book, blocks[:2], first=True, again=False)
    first, second = await jobs.open_jobs()
    assert (first.block_id, second.block_id) == (blocks[0].id, blocks[1].id)
    done = {"characters_done": 3, "spent_seconds": 1.5, "size_bytes": 10**9}
    await jobs.change(first.id, ("queued",), state="complete", said=blocks[0].said, **done)
    async with database.transaction() as rows:
        progress = (await progress_of(rows, ["b_1", "b_none"]))["b_1"]
    assert (progress.ready, progress.failed, progress.characters) == (2, 0, sum(map(len, TEXTS)))
    assert progress.seconds_left == 6.0  # twelve characters at half a second each
    await jobs.end(second.id, "failed")
    async with database.transaction() as rows:
        progress = (await progress_of(rows, ["b_1"]))["b_1"]
    assert (progress.ready, progress.failed, progress.seconds_left) == (2, 1, None)
    (stored,) = await books.stored()
    assert (stored.session_id, stored.size_bytes, stored.active) == ("b_1", 10**9, False)
    assert stored.created_at > now() - timedelta(hours=1)
    with pytest.raises(ApiError, match="GB") as refused:
        await TakeStore(books, Bounds(3, 99, 10**9)).add(book, blocks[1:2], first=False, again=False)
    assert refused.value.status_code == 507


async def test_so_many_takes_of_an_owner_wait_and_no_more(books: BookStore, database: Database) -> None:
    """In all of the owner's books; takes that are made wait no more, and others' count for themselves."""
    takes, jobs = TakeStore(books, Bounds(9, 2, None)), JobStore(database, 9, 9)
    book, blocks = await books.get("b_1"), await books.blocks("b_1")
    second, other = (
        Book(id=f"b_{owner}", owner=owner, title="T", voice="default") for owner in ("ann", "bob")
    )
    for each in (second, other):
        await books.add(each, [NewBlock(text="A.")])

    async def add(to: Book, blocks: list[BookBlock]) -> None:
        await takes.add(to, blocks, first=False, again=True)

    await add(book, blocks[:1])
    with pytest.raises(
        ApiError, match=r"2 more would be more than 2 \(max_waiting_takes_per_owner\)"
    ) as refused:
        await add(book, blocks[:2])
    assert (refused.value.status_code, refused.value.code) == (429, "too_many_waiting_takes")
    await add(second, await books.blocks(second.id))
    with pytest.raises(ApiError, match="2 takes of this client wait"):
        await add(book, blocks[1:2])
    await add(book, [])
    await add(other, await books.blocks(other.id))
    await jobs.change((await jobs.open_jobs())[0].id, ("queued",), state="complete")
    await add(book, blocks[1:2])


async def test_takes_that_wait_take_room_before_they_are_made(books: BookStore) -> None:
    book, blocks = await books.get("b_1"), await books.blocks("b_1")
    takes = TakeStore(books, Bounds(9, 99, 2 * _BYTES_PER_CHARACTER * len(TEXTS[0])))
    for _ in range(2):
        await takes.add(book, blocks[:1], first=False, again=True)
    with pytest.raises(ApiError, match="GB") as refused:
        await takes.add(book, blocks[:1], first=False, again=True)
    assert refused.value.code == "storage_full"


async def test_one_owner_s_many_takes_hide_no_other_s_jobs(books: BookStore, database: Database) -> None:
    takes = TakeStore(books, Bounds(1000, 1000, None))
    blocks = await books.blocks("b_1")
    await takes.add(await books.get("b_1"), blocks[:1] * 100, first=False, again=True)
    other = Book(id="b_2", owner="bob", title="T", voice="default")
    await books.add(other, [NewBlock(text="A.")])
    await takes.add(other, await books.blocks("b_2"), first=False, again=False)
    found = await JobStore(database, 9, 9).open_jobs()
    assert len(found) == _FIRST_OF_AN_OWNER + 1 and found[-1].owner == "bob"
