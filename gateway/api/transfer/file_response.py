"""Files of which clients may ask for parts; ranges that cannot be sent are refused in the one error shape.

And what a browser calls a file that it saves.
"""

from __future__ import annotations

from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send

from gateway.errors import ApiError


class RangedFileResponse(FileResponse):
    """Starlette's, but for its own words about a wrong `Range` header."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, or what was asked for of it. Raises ApiError 400, 416."""
        await super().__call__(scope, receive, refusing_ranges(send))


def refusing_ranges(send: Send) -> Send:
    """`send` for whatever answers 400 and 416 to ranges alone: raises ApiError instead."""

    async def checked(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] in (400, 416):
            raise _range_error(message)
        await send(message)

    return checked


def _range_error(message: Message) -> ApiError:
    if message["status"] == 400:
        return ApiError(400, "invalid_range", "the Range header does not name bytes of a file", param="Range")
    error = ApiError(416, "range_not_satisfiable", "the file has no such bytes", param="Range")
    error.headers = {"Content-Range": Headers(raw=message["headers"])["content-range"]}
    return error


def disposition(name: str, *, inline: bool = False) -> str:
    """The header `Content-Disposition` (RFC 6266) for a file's name in any script."""
    stem, dot, suffix = name.rpartition(".")
    plain = "".join(each if each.isascii() and (each.isalnum() or each in " -_.") else "_" for each in stem)
    plain = plain.strip(" _") or "speech"
    told = f'{"inline" if inline else "attachment"}; filename="{plain}{dot}{suffix}"'
    return told if plain == stem else f"{told}; filename*=UTF-8''{quote(name, safe='')}"
