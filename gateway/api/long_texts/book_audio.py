"""What is heard of a book: the audio and words of a take, and all that is heard as one file."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response
from starlette.responses import StreamingResponse

from gateway.api.long_texts.books import PATH, BooksDep, OwnBlock, OwnBook, take_of
from gateway.api.long_texts.jobs import JobsDep, checked_format
from gateway.api.transfer.file_response import RangedFileResponse, disposition
from gateway.api.transfer.word_files import beside, check_form, words_response
from gateway.audio.formats import content_type_of, output_sample_rate
from gateway.audio.note import note_headers
from gateway.books import Books
from gateway.books.export import Export
from gateway.books.service import not_ready
from gateway.errors import ApiError
from gateway.jobs import audiobook
from gateway.jobs.result import ResultFormat, result_pieces, samples_of
from gateway.jobs.words import JobWords
from gateway.service import GatewayDep

_SUBTITLES = ("srt", "vtt")
router = APIRouter(prefix=PATH)


@router.get("/{id}/blocks/{block}/takes/{take}/audio", response_class=StreamingResponse)
async def get_take(
    take: str,
    block: OwnBlock,
    gateway: GatewayDep,
    books: BooksDep,
    jobs: JobsDep,
    format: Annotated[str, Query(max_length=16)] = "wav",
) -> Response:
    """The audio of a take as a file; any format of `POST /tts`."""
    found = await take_of(books, block, take)
    wanted = checked_format(format)
    if wanted.format == audiobook.FORMAT:
        raise ApiError(422, "invalid_value", "format: m4b is for whole books", param="format")
    if found.state != "complete":
        raise not_ready()
    audio = jobs.files(found.id).audio
    if not audio.is_file():
        raise ApiError(404, "no_audio", "there is no audio", param="take")
    noted = gateway.settings.provenance_note
    pcm = samples_of(audio, found.audio_bytes, found.sample_rate)
    pieces = result_pieces(pcm, found.audio_bytes // 2, found.sample_rate, wanted, (), noted=noted)
    headers = _headers(found.id, wanted.format, found.sample_rate, noted)
    return StreamingResponse(beside(pieces, jobs.encoders), headers=headers)


@router.get("/{id}/blocks/{block}/takes/{take}/words.{form}", response_class=StreamingResponse)
async def get_take_words(
    take: str, form: str, block: OwnBlock, gateway: GatewayDep, books: BooksDep, jobs: JobsDep
) -> Response:
    """When the words of a take are said: `words.srt`, `words.vtt` or `words.json`."""
    check_form(form)
    found = await take_of(books, block, take)
    if found.state != "complete":
        raise not_ready()
    told = JobWords(jobs.files(found.id).words, found.timestamps)
    return await words_response(told, found.id, form, noted=gateway.settings.provenance_note)


@router.get("/{id}/export", response_class=StreamingResponse)
async def export_book(
    book: OwnBook,
    gateway: GatewayDep,
    books: BooksDep,
    jobs: JobsDep,
    format: Annotated[str, Query(max_length=16)] = "mp3",
) -> Response:
    """The takes that are heard as one file: audio with chapter marks, or `srt` and `vtt` subtitles."""
    noted = gateway.settings.provenance_note
    wanted = None if format in _SUBTITLES else checked_format(format, _SUBTITLES)
    async with books.turns.take(book.owner):
        export = await books.export(book)
    if wanted is None:
        answer = await words_response(export, book.id, format, noted=noted)
        answer.headers["Content-Disposition"] = disposition(f"{book.title}.{format}")
        return answer
    headers = _headers(book.title, wanted.format, export.sample_rate, noted)
    if wanted.format == audiobook.FORMAT:
        return await _audiobook(books, export, wanted, headers)
    pieces = await asyncio.to_thread(export.pieces, wanted, noted=noted)
    return StreamingResponse(beside(pieces, jobs.encoders), headers=headers)


async def _audiobook(
    books: Books, export: Export, wanted: ResultFormat, headers: dict[str, str]
) -> RangedFileResponse:
    """Raises ApiError: 409 where the book is changed meanwhile, 507."""
    try:
        return RangedFileResponse(await books.audiobook(export, wanted), headers=headers)
    except FileNotFoundError:
        raise ApiError(409, "book_changed", "the book was changed meanwhile: ask again") from None


def _headers(name: str, format: str, sample_rate: int, noted: bool) -> dict[str, str]:
    rate = output_sample_rate(format, None, sample_rate)
    return {
        "Content-Disposition": disposition(f"{name}.{format.partition('-')[0]}"),
        "Content-Type": content_type_of(format, rate),
        "X-Sample-Rate": str(rate),
        **note_headers(noted),
    }
