"""Everything that pages consist of, under one content hash.

A browser that has a file of an edition need never ask again, because the hash is in its address, under which
no gateway has anything else (`kept.py`):

    /static/v-0123456789abcdef/pages/index.js     the linked modules of index.html
    /static/v-0123456789abcdef/js/audio/worklet.js   a file as it is
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import structlog

from gateway.site.markup import SCRIPT, STYLE, addressed, bundled, joined
from gateway.site.modules import LinkError, link
from gateway.site.offline import SOURCE, service_worker

logger = structlog.get_logger(__name__)

BUNDLES = "pages"
"""Folder of linked files, as deep as css/: style sheets name their fonts relative to themselves."""
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
_TYPES[".webmanifest"] = "application/manifest+json"
_COMPRESSED = ("text/", "image/svg", "application/json", "application/manifest")
_WORTH_COMPRESSING_BYTES = 512
_LEVEL = 6


@dataclass
class File:
    """One file in memory."""

    body: bytes
    media_type: str

    @cached_property
    def etag(self) -> str:
        """The ETag of the content."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    @cached_property
    def compressed(self) -> bytes | None:
        """gzip, where it is worth it: some milliseconds when it is asked for first."""
        if not self.media_type.startswith(_COMPRESSED) or len(self.body) < _WORTH_COMPRESSING_BYTES:
            return None
        return gzip.compress(self.body, _LEVEL, mtime=0)


class Edition:
    """The pages of a folder and what they need, read once."""

    def __init__(self, folder: Path) -> None:
        """Reads and links everything: some tens of milliseconds."""
        static = folder / "static"
        self.files = {
            path.relative_to(static).as_posix(): File(path.read_bytes(), media_type(path))
            for path in files_of(static)
        }
        parts = _markups_in(folder / "parts")
        markups = {name: joined(markup, parts) for name, markup in _markups_in(folder).items()}
        markups = {name: self._bundle(static, name, markup) for name, markup in markups.items()}
        self.version = self._hash()
        markups = {name: addressed(markup, self.version) for name, markup in markups.items()}
        self.pages = {
            name: File(markup.encode(), "text/html; charset=utf-8") for name, markup in markups.items()
        }
        self.worker = self._worker(folder / SOURCE, markups)

    def _bundle(self, static: Path, name: str, markup: str) -> str:
        """The page with bundles, which join the files."""
        stem = f"{BUNDLES}/{name.removesuffix('.html')}"
        style = script = None
        sheets = STYLE.findall(markup)
        if sheets and all(sheet in self.files for sheet in sheets):
            style = f"{stem}.css"
            self.files[style] = File(b"\n".join(self.files[sheet].body for sheet in sheets), _TYPES[".css"])
        if (entry := SCRIPT.search(markup)) is not None:
            try:
                scripts = link(static, entry["path"], f"{name.removesuffix('.html')}.js")
            except LinkError as error:
                logger.warning("a page is served as single modules", page=name, reason=str(error))
            else:
                script = f"{stem}.js"
                for file, text in scripts.items():
                    self.files[f"{BUNDLES}/{file}"] = File(text.encode(), _TYPES[".js"])
        return bundled(markup, style=style, script=script)

    def _worker(self, path: Path, markups: dict[str, str]) -> File | None:
        """The service worker; None where the pages have none."""
        if not path.is_file():
            return None
        text = service_worker(path.read_text(encoding="utf-8"), self.version, markups, self.files)
        return File(text.encode(), _TYPES[".js"])

    def _hash(self) -> str:
        digest = hashlib.sha256()
        for name, file in sorted(self.files.items()):
            digest.update(f"{name}\0{file.etag}\0".encode())
        return f"v-{digest.hexdigest()[:16]}"


def _markups_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.html"))}


def media_type(path: Path) -> str:
    """By the end of its name."""
    return _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"


def files_of(folder: Path) -> Iterator[Path]:
    """All files below a folder. A link that leads out of it is none of them."""
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.resolve().is_relative_to(root):
            yield path
