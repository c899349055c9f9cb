"""The books of one gateway. Their takes are jobs, which any gateway of the same database works on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gateway.books.changes import Revision, revision_of
from gateway.books.choice import chosen, is_made
from gateway.books.export import Export, Spoken, places_without_audio
from gateway.books.progress import Progress, progress_of
from gateway.books.request import BlocksChange, BookChange, NewBook, check_blocks, order_for
from gateway.books.store import BookStore, blocks_of, gone, new_book_id
from gateway.books.takes import Bounds, TakeStore, takes_of
from gateway.callers.turns import OwnersTurns
from gateway.database import Book, BookBlock, Job
from gateway.database.repeats import NOT_ASKED, Asked
from gateway.errors import ApiError
from gateway.jobs import Jobs
from gateway.jobs.request import JobRequest
from gateway.jobs.result import ResultFormat
from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.sessions.cleanup import Limits, Stored
from gateway.sessions.storage.files import remove_folder
from gateway.tending.orphans import is_old

_MOST_NAMED = 20
"""Blocks in an error."""
_AT_ONCE = 100
"""Books whose progress is asked for together."""


class Told(NamedTuple):
    """A book as it is read: all of it, or what changed."""

    book: Book
    blocks: list[BookBlock]
    """In order."""
    takes: dict[str, list[Job]]
    """Of these blocks, by the id of each."""
    progress: Progress
    revision: Revision
    partial: bool
    """Whether the other blocks are as they were told before."""


class Books:
    """Made with the application. Methods raise ApiError 503 when the database cannot be used."""

    def __init__(self, gateway: Gateway, jobs: Jobs) -> None:
        settings = gateway.settings
        self.folder = settings.data_dir.absolute() / "books"
        self.store = BookStore(gateway.database, settings.max_books, settings.max_books_per_owner)
        bounds = Bounds(
            settings.max_block_takes,
            settings.max_waiting_takes_per_owner,
            Limits.of(settings).owner_bytes,
        )
        self.takes = TakeStore(self.store, bounds)
        self.turns = OwnersTurns("too many requests for whole books are being answered")
        """Of what reads or writes all of a book."""
        self._gateway = gateway
        self._jobs = jobs
        jobs.shelf = self

    # --------------------------------------------------------------------------------------- for their owners

    async def create(self, order: NewBook, owner: str, asked: Asked = NOT_ASKED) -> Book:
        """A new book. Raises ApiError: 404 for a voice, 422, 429."""
        check_blocks(order.blocks, self._gateway.settings)
        await self._check_voices({order.voice, *(block.voice for block in order.blocks)}, owner)
        book = Book(id=new_book_id(), owner=owner, title=order.title, voice=order.voice)
        book.language = order.language
        asked.mark(book)
        await self.store.add(book, order.blocks)
        return book

    async def read(self, book_id: str, since: Revision | None = None) -> Told:
        """All of a book; with `since`, the blocks whose takes changed, where nothing else did.

        Raises ApiError 404.
        """
        async with self.store.rows() as rows:
            book = await rows.get(Book, book_id)
            if book is None:
                raise gone()
            progress = (await progress_of(rows, [book_id]))[book_id]
            revision = await revision_of(rows, book)
            changed = revision.takes_since(since)
            blocks = await blocks_of(rows, book_id, changed)
            takes = await takes_of(rows, book_id, changed)
            return Told(book, blocks, takes, progress, revision, changed is not None)

    async def progress(self, book_ids: Sequence[str]) -> dict[str, Progress]:
        """Id -> how far it is."""
        found: dict[str, Progress] = {}
        async with self.store.rows() as rows:
            for start in range(0, len(book_ids), _AT_ONCE):
                found |= await progress_of(rows, book_ids[start : start + _AT_ONCE])
        return found

    async def change(self, book: Book, change: BookChange) -> None:
        """Set what was given. Raises ApiError 404."""
        fields = change.model_dump(exclude_unset=True)
        if fields.get("voice") not in (None, book.voice):
            await self._check_voices({fields["voice"]}, book.owner)
        await self.store.change(book.id, fields)

    async def replace(self, book: Book, change: BlocksChange) -> None:
        """Have these blocks. Raises ApiError: 404, 409 for an old version, 422."""
        check_blocks(change.blocks, self._gateway.settings)
        known = {book.voice, *(block.voice for block in await self.store.blocks(book.id))}
        await self._check_voices({block.voice for block in change.blocks} - known, book.owner)
        await self._jobs.clear(await self.store.replace(book.id, change.version, change.blocks))

    async def make(self, book: Book, block_ids: Sequence[str] | None) -> None:
        """Have takes made of these blocks, before all others; None: of all without one of what they say.

        Raises ApiError: 404 for a block, 409, 507.
        """
        self._gateway.check_open()
        blocks = await self.store.blocks(book.id)
        if block_ids is None:
            takes = await self.takes.of(book.id)
            wanted = [block for block in blocks if not is_made(block, takes.get(block.id, ()))]
        else:
            by_id = {block.id: block for block in blocks}
            if unknown := next((each for each in block_ids if each not in by_id), None):
                raise unknown_block(f"blocks: the book has no block {unknown}", "blocks")
            wanted = [by_id[each] for each in dict.fromkeys(block_ids) if by_id[each].said]
        await self._add(book, wanted, None, first=block_ids is not None, again=False)

    async def take_again(self, book: Book, block: BookBlock, seed: int | None) -> None:
        """One more take of a block, before all others. Raises ApiError: 409, 422 without words, 507."""
        self._gateway.check_open()
        if not block.said:
            raise ApiError(422, "empty_text", "the block has no words", param="block")
        await self._add(book, [block], seed, first=True, again=True)

    async def _add(
        self, book: Book, blocks: Sequence[BookBlock], seed: int | None, *, first: bool, again: bool
    ) -> None:
        await self._jobs.clear(await self.takes.add(book, blocks, seed, first=first, again=again))
        await self.store.touch(book.id)
        self._jobs.wake()

    async def stop(self, book: Book) -> None:
        """Drop what waits or is being made."""
        await self._jobs.clear(await self.takes.remove(book.id))

    async def choose(self, block: BookBlock, take: Job) -> None:
        """Have a take heard. Raises ApiError 409 for one that is not ready."""
        if take.state != "complete":
            raise not_ready()
        await self.store.choose(block, take.id)

    async def remove_take(self, take: Job) -> None:
        """Delete a take."""
        await self._jobs.clear(await self.takes.remove(take.book_id, take.id))

    async def remove(self, book_id: str) -> None:
        """Forget a book with its takes."""
        await self._jobs.clear(await self.store.remove(book_id))
        await self._jobs.audiobooks.drop(self.folder / book_id)
        await asyncio.to_thread(remove_folder, self.folder / book_id)

    # -------------------------------------------------------------------------------------------- its export

    async def export(self, book: Book) -> Export:
        """The takes that are heard. Raises ApiError 409 that names blocks without one or its audio."""
        blocks, takes = await self.store.blocks(book.id), await self.takes.of(book.id)
        heard = [chosen(block, takes.get(block.id, ())) for block in blocks]
        missing = [
            place for place, (block, take) in enumerate(zip(blocks, heard, strict=True), 1)
            if block.said and take is None
        ]  # fmt: skip
        if missing or not any(heard):
            which = (
                f"blocks without a take: {_named(missing)}" if missing else "there is no block with a take"
            )
            raise ApiError(409, "book_not_ready", f"the book is not ready, {which}", param="blocks")
        spoken = [
            Spoken(block, take, self._jobs.files(take.id) if take else None)
            for block, take in zip(blocks, heard, strict=True)
        ]
        if lost := await asyncio.to_thread(places_without_audio, spoken):
            message = f"the audio of the takes of these blocks is gone, have others made: {_named(lost)}"
            raise ApiError(409, "take_lost", message, param="blocks")
        await self.store.touch(book.id)
        return Export(book, spoken)

    async def audiobook(self, export: Export, wanted: ResultFormat) -> Path:
        """It as m4b. Raises OSError: FileNotFoundError where a take goes meanwhile."""
        folder = self.folder / export.book.id
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True, mode=0o700)
        noted = self._gateway.settings.provenance_note
        return await self._jobs.audiobooks.get(
            folder,
            wanted,
            lambda target: export.pieces(wanted, noted=noted, target=target),
            lambda size_bytes: self.store.touch(export.book.id, size_bytes=size_bytes),
            export.content,
        )

    # ------------------------------------------------------------------------------------------- for the jobs

    async def order_of(self, take: Job) -> tuple[JobRequest, str] | None:
        """What a take says as its block stands; None where it is gone. Raises ApiError 422."""
        book = await self.store.get(take.book_id or "")
        block = await self.store.block(take.book_id or "", take.block_id or "")
        if book is None or block is None:
            return None
        voice = block.voice or book.voice
        return order_for(block.text, voice, book.language, block.pronunciations, take.seed), block.said

    async def stored(self) -> list[Stored]:
        """All books, each with its takes as a whole. Removes folders without a book."""
        found = await self.store.stored()
        await asyncio.to_thread(self._remove_orphans, {book.session_id for book in found})
        return found

    def _remove_orphans(self, known: Iterable[str]) -> None:
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name not in known and is_old(path):
                remove_folder(path)

    async def _check_voices(self, voices: Iterable[str | None], owner: str) -> None:
        """Raise ApiError for the first that cannot be used."""
        for voice in sorted(filter(None, voices)):
            await self._gateway.check_speaker(TtsRequest(text="x", voice=voice), owner)


def unknown_block(message: str = "the book has no such block", param: str = "block") -> ApiError:
    return ApiError(404, "unknown_block", message, param=param)


def not_ready() -> ApiError:
    return ApiError(409, "take_not_ready", "the take is not ready", param="take")


def _named(places: Sequence[int]) -> str:
    return ", ".join(map(str, places[:_MOST_NAMED])) + (", ..." if places[_MOST_NAMED:] else "")
