"""`POST /api/encode`: a clip that a client has heard as a file in another format, without being spoken again.

The body is a WAV file of mono s16le samples. It is converted while it comes; the file that results is on disk
where it is large, for browsers read an answer only when all of their request is sent.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import IO, Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from gateway.api.permissions import MUTATION, owner_of
from gateway.audio.conversion import Conversion
from gateway.audio.formats import CONTENT_TYPES
from gateway.audio.note import note_headers
from gateway.audio.wav import (
    MAX_HEADER_BYTES,
    UNKNOWN_BYTES,
    check_plain,
    header_data_bytes,
    header_sample_rate,
    read_header,
)
from gateway.errors import ApiError
from gateway.service import GatewayDep

PATH = "/api/encode"
router = APIRouter()
Format = Annotated[Literal["wav", "mp3", "flac", "opus", "aac"], Query()]
_RATES = (8000, 48000)
_PIECE_BYTES = 256 << 10
_IN_MEMORY_BYTES = 1 << 20


class _FileResponse(StreamingResponse):
    """A file without a name, which is closed with the answer, as is what else it holds."""

    def __init__(self, file: IO[bytes], held: ExitStack, headers: dict[str, str]) -> None:
        super().__init__(_pieces(file), headers=headers)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await super().__call__(scope, receive, send)


@router.post(PATH, dependencies=[MUTATION], response_class=StreamingResponse)
async def encode(request: Request, gateway: GatewayDep, format: Format) -> StreamingResponse:
    """The WAV file that is the body, in `format`. 422 for what is no such file, 429 for too many at once."""
    owner = owner_of(request, gateway)
    noted = gateway.settings.provenance_note
    with ExitStack() as held:
        held.enter_context(gateway.voices.uploads.place(owner))
        file = held.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES))
        size = await _convert(request, format, noted, file)
        headers = {
            "Content-Length": str(size),
            "Content-Type": CONTENT_TYPES[format],
            "Content-Disposition": f'attachment; filename="speech.{format}"',
            **note_headers(noted),
        }
        return _FileResponse(file, held.pop_all(), headers)


async def _convert(request: Request, format: str, noted: bool, file: IO[bytes]) -> int:
    """The body into `file`, which is left at its beginning; how many bytes it has. Raises ApiError."""
    pieces = _by_size(request.stream())
    first = await anext(pieces, b"")
    header = _header_of(first)
    announced = header_data_bytes(header)
    samples = None if announced == UNKNOWN_BYTES else announced // 2
    conversion = Conversion(format, header_sample_rate(header), noted=noted, samples=samples)
    pcm, left = first[len(header) :], announced

    def work(pcm: bytes, last: bool = False) -> None:
        file.write(conversion.process(pcm, last) + (conversion.finish() if last else b""))

    async for piece in pieces:
        whole = len(pcm) - len(pcm) % 2
        await asyncio.to_thread(work, pcm[: min(whole, left)])
        left -= min(whole, left)
        pcm = pcm[whole:] + piece
    end = min(len(pcm) - len(pcm) % 2, left)
    if samples is not None and end < left:
        raise ApiError(422, "invalid_audio", "the WAV file is cut off", param="body")
    if not end and left == announced:
        raise ApiError(422, "invalid_audio", "there is no sound in the WAV file", param="body")
    await asyncio.to_thread(work, pcm[:end], True)
    size = file.tell()
    file.seek(0)
    return size


def _header_of(beginning: bytes) -> bytes:
    """Raises ApiError 422 for what is no WAV file of such samples."""
    try:
        header = read_header(beginning[:MAX_HEADER_BYTES])
        check_plain(header)
        if (size := header_data_bytes(header)) % 2 and size != UNKNOWN_BYTES:
            raise ValueError("the last sample is cut off")
    except ValueError as error:
        raise ApiError(422, "invalid_audio", f"a WAV file of mono 16 bit PCM is needed: {error}") from None
    if not _RATES[0] <= header_sample_rate(header) <= _RATES[1]:
        message = f"the sample rate is from {_RATES[0]} to {_RATES[1]}"
        raise ApiError(422, "invalid_audio", message, param="body")
    return header


async def _by_size(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks joined to pieces of at least `_PIECE_BYTES`; the last has the rest."""
    gathered = bytearray()
    async for chunk in chunks:
        gathered += chunk
        if len(gathered) >= _PIECE_BYTES:
            yield bytes(gathered)
            gathered.clear()
    if gathered:
        yield bytes(gathered)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(_PIECE_BYTES), b"")
