"""Files of which clients may ask for parts, or whether they have changed.

Ranges that a file does not have are refused in the one error shape.

And what a browser calls a file that it saves.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from email.utils import parsedate
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import FileResponse
from starlette.staticfiles import NotModifiedResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import ApiError

_RANGE = re.compile(r"(\d{1,20})-(\d{0,20})|-\d{1,20}")


class RangedFileResponse(FileResponse):
    """Starlette's, but for a client that has the file already, and for wrong `Range` headers."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, or what was asked for of it. Raises ApiError: 404 where it is gone, 416."""
        try:
            await self._answer(scope, receive, send)
        except FileNotFoundError:
            raise ApiError(404, "not_found", "the file was deleted meanwhile") from None

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.stat_result = await asyncio.to_thread(os.lstat, self.path)
        if not stat.S_ISREG(self.stat_result.st_mode):
            raise FileNotFoundError(self.path)
        self.set_stat_headers(self.stat_result)
        if _is_known(Headers(scope=scope), self.headers):
            await NotModifiedResponse(self.headers)(scope, receive, send)
        else:
            await ranged(super().__call__, scope, receive, _once_open(send))


def _once_open(send: Send) -> Send:
    """Begins the answer with the first bytes: before them, that the file is gone can still be said."""
    begun: list[Message] = []

    async def later(message: Message) -> None:
        if message["type"] == "http.response.start":
            begun.append(message)
            return
        if begun:
            await send(begun.pop())
        await send(message)

    return later


def _is_known(asked: Headers, file: Headers) -> bool:
    """Whether the client has the file as it is (RFC 9110, section 13.2.2)."""
    if (asked_tags := asked.get("if-none-match")) is not None:
        tags = {tag.strip().removeprefix("W/") for tag in asked_tags.split(",")}
        return not tags.isdisjoint(("*", file["etag"]))
    since = parsedate(asked.get("if-modified-since", ""))
    return since is not None and since >= parsedate(file["last-modified"])


class _Beyond(Exception):
    """One of the ranges that were asked for begins behind the end of the file."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes


async def ranged(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Starlette's answer with a file, to whom a `Range` that is none means nothing (RFC 9110, section 14.2).

    Of several ranges those are sent that the file has. Raises ApiError 416 where it has none of them.
    """

    async def checked(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 416:
            told = Headers(raw=message["headers"])["content-range"]
            raise _Beyond(int(told.removeprefix("bytes */")))
        await send(message)

    asked = Headers(scope=scope).get("range", "")
    try:
        await app(_asking(scope, asked if _is_range(asked) else None), receive, checked)
    except _Beyond as beyond:
        within = [each for each in asked.partition("=")[2].split(",") if _begins_in(each, beyond.size_bytes)]
        if not within:
            error = ApiError(416, "range_not_satisfiable", "the file has no such bytes", param="Range")
            error.headers = {"Content-Range": f"bytes */{beyond.size_bytes}"}
            raise error from None
        await app(_asking(scope, f"bytes={','.join(within)}"), receive, send)


def _asking(scope: Scope, range: str | None) -> Scope:
    """The request with this `Range`, or with none."""
    others = [each for each in scope["headers"] if each[0] != b"range"]
    return {**scope, "headers": [*others, (b"range", range.encode())] if range else others}


def _begins_in(each: str, size_bytes: int) -> bool:
    first, _, last = each.strip().partition("-")
    return int(first) < size_bytes if first else size_bytes > 0 and int(last) > 0


def _is_range(header: str) -> bool:
    unit, _, ranges = header.partition("=")
    found = [_RANGE.fullmatch(each.strip()) for each in ranges.split(",")]
    return unit.strip().lower() == "bytes" and all(
        match and not (match[2] and int(match[1]) > int(match[2])) for match in found
    )


def disposition(name: str, *, inline: bool = False) -> str:
    """The header `Content-Disposition` (RFC 6266) for a file's name in any script."""
    stem, dot, suffix = name.rpartition(".")
    plain = "".join(each if each.isascii() and (each.isalnum() or each in " -_.") else "_" for each in stem)
    plain = plain.strip(" _") or "speech"
    told = f'{"inline" if inline else "attachment"}; filename="{plain}{dot}{suffix}"'
    return told if plain == stem else f"{told}; filename*=UTF-8''{quote(name, safe='')}"
