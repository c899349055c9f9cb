"""Books as the API tells them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.books.choice import chosen
from gateway.books.progress import Progress
from gateway.books.service import Told
from gateway.database import Book, BookBlock, Job
from gateway.jobs.listing import audio_seconds, share_of
from gateway.tending.rows import error_of

_STATES = {"running": "making", "complete": "ready"}


def describe_row(book: Book, progress: Progress) -> dict[str, Any]:
    """A book as JSON, as it stands in a list."""
    return {
        "id": book.id,
        "title": book.title,
        "voice": book.voice,
        "created_at": book.created_at.isoformat(),
        "updated_at": book.updated_at.isoformat(),
        "characters": progress.characters,
        "progress": progress.to_dict(),
    }


def describe(told: Told) -> dict[str, Any]:
    """A book as JSON, with blocks and takes."""
    return {
        **describe_row(told.book, told.progress),
        "language": told.book.language,
        "version": told.book.version,
        "revision": str(told.revision),
        "partial": told.partial,
        "blocks": [_block(block, told.takes.get(block.id, [])) for block in told.blocks],
    }


def _block(block: BookBlock, takes: Sequence[Job]) -> dict[str, Any]:
    heard = chosen(block, takes)
    return {
        "id": block.id,
        "kind": block.kind,
        "text": block.text,
        "voice": block.voice,
        "pause_ms": block.pause_ms,
        "pronunciations": block.pronunciations,
        "takes": [_take(block, take) for take in takes],
        "take": heard.id if heard else None,
        "stale": heard is not None and heard.said != block.said,
    }


def _take(block: BookBlock, take: Job) -> dict[str, Any]:
    ready = take.state == "complete"
    return {
        "id": take.id,
        "seed": take.seed,
        "state": _STATES.get(take.state, take.state),
        "seconds": audio_seconds(take) if ready else None,
        "progress": share_of(take),
        "error": error_of(take),
        "created_at": take.created_at.isoformat(),
        "stale": ready and take.said != block.said,
    }
