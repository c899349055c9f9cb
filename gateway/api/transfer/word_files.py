"""Times of words as downloads, of sessions and jobs: SRT, WebVTT, JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext

from starlette.responses import StreamingResponse

from gateway.api.transfer.file_response import disposition
from gateway.audio.note import note_headers
from gateway.errors import ApiError
from gateway.timing.files import FORMATS, Told

_BLOCK_CHARACTERS = 1 << 16


def check_form(form: str) -> None:
    """Raise ApiError 404 for what is no format of such a file."""
    if form not in FORMATS:
        message = f"words come as {', '.join(FORMATS)}"
        raise ApiError(404, "unknown_format", message, param="format")


async def words_response(told: Told, name: str, form: str, *, noted: bool) -> StreamingResponse:
    """The file `name`.`form`, read and written while it is sent. Raises ApiError 404, and OSError."""
    media_type, write = FORMATS[form]
    try:
        source = await asyncio.to_thread(lambda: told.source)
    except FileNotFoundError:
        raise ApiError(404, "no_timestamps", "there are no times of its words") from None
    headers = {
        "Content-Disposition": disposition(f"{name}.{form}"),
        "Content-Type": media_type if form == "json" else f"{media_type}; charset=utf-8",
        "X-Timestamps-Source": source,
        **note_headers(noted),
    }
    return StreamingResponse(beside(_in_blocks(write(told))), headers=headers)


def _in_blocks(pieces: Iterator[str]) -> Iterator[bytes]:
    block: list[str] = []
    characters = 0
    for piece in pieces:
        block.append(piece)
        characters += len(piece)
        if characters >= _BLOCK_CHARACTERS:
            yield "".join(block).encode()
            block, characters = [], 0
    yield "".join(block).encode()


async def beside(
    pieces: Iterator[bytes], turns: AbstractAsyncContextManager[None] | None = None
) -> AsyncIterator[bytes]:
    """The pieces, each made in a thread, when it is its turn."""
    while True:
        async with turns or nullcontext():
            piece = await asyncio.to_thread(next, pieces, None)
        if piece is None:
            return
        if piece:
            yield piece
