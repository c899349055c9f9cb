"""The present edition of the pages, and what of it a request gets."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response

from gateway.site.edition import Edition, File, files_of
from gateway.site.kept import KeptEditions

_LOOK_AGAIN_SECONDS = 1.0
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_Signature = tuple[tuple[str, int, int], ...]


class Site:
    """The pages of `folder`. A file that changes makes a new edition, which pages name from then on."""

    def __init__(self, folder: Path, kept: Path) -> None:
        """`kept`: a folder that gateways share, where each finds the editions of the others."""
        self._folder = folder
        self._kept = KeptEditions(kept)
        self._edition: Edition | None = None
        self._signature: _Signature = ()
        self._looked_at = -_LOOK_AGAIN_SECONDS
        self._lock = asyncio.Lock()

    async def page(self, name: str, headers: Headers) -> Response | None:
        """`name` ("index.html") for a request with these headers; None where there is no such page."""
        file = (await self._present()).pages.get(name)
        return None if file is None else await answered(file, headers, _ASK_AGAIN)

    async def worker(self, headers: Headers) -> Response | None:
        """The service worker of the present edition; None where the pages have none."""
        file = (await self._present()).worker
        return None if file is None else await answered(file, headers, _ASK_AGAIN)

    async def file(self, version: str, path: str, headers: Headers) -> Response | None:
        """`path` of an edition, the present or another; None where there is none, whatever others have."""
        edition = await self._present()
        if version == edition.version:
            file = edition.files.get(path)
        else:
            file = await asyncio.to_thread(self._kept.file, version, path)
        return None if file is None else await answered(file, headers, _FOR_EVER)

    async def _present(self) -> Edition:
        async with self._lock:
            if self._edition is None or time.monotonic() - self._looked_at > _LOOK_AGAIN_SECONDS:
                signature = await asyncio.to_thread(_signature, self._folder)
                if self._edition is None or signature != self._signature:
                    self._edition = await asyncio.to_thread(self._read)
                    self._signature = signature
                self._looked_at = time.monotonic()
            return self._edition

    def _read(self) -> Edition:
        edition = Edition(self._folder)
        self._kept.keep(edition)
        return edition


def _signature(folder: Path) -> _Signature:
    """What changes when a file does."""
    found = ((path, path.stat()) for path in files_of(folder))
    return tuple((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in found)


async def answered(file: File, headers: Headers, cache_control: str) -> Response:
    """The file, compressed for who takes that, or that who asks has it."""
    sent = {"Cache-Control": cache_control, "ETag": file.etag, "Vary": "Accept-Encoding"}
    if file.etag in headers.get("if-none-match", "").replace("W/", "").split(", "):
        return Response(status_code=304, headers=sent)
    compressed = await asyncio.to_thread(lambda: file.compressed) if _takes_gzip(headers) else None
    if compressed is not None:
        sent |= {"Content-Encoding": "gzip", "ETag": f"W/{file.etag}"}
    return Response(compressed or file.body, headers=sent, media_type=file.media_type)


def _takes_gzip(headers: Headers) -> bool:
    codings = (coding.replace(" ", "") for coding in headers.get("accept-encoding", "").split(","))
    return any(coding.startswith("gzip") and not coding.endswith(";q=0") for coding in codings)
