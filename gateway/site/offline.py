"""The service worker of the pages, `frontend/service-worker.js`, with what the present edition consists of.

Its text changes with every page and file, by which browsers notice that there is a new one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

SOURCE = "service-worker.js"
_NAMED = re.compile(r'(?:href|src)="(/static/[^"]+)"')
_ASKED_FOR_LATER = ("fonts/", "img/", "js/audio/", "pages/")
"""Folders of what style sheets and scripts name: audio worklets are modules of their own, and pages have
scripts that they import when they want them."""


def service_worker(source: str, version: str, pages: Mapping[str, str], files: Iterable[str]) -> str:
    """`source` for the edition `version` with these pages (name -> markup) and files (below /static)."""
    named = {address for markup in pages.values() for address in _NAMED.findall(markup)}
    later = {f"/static/{version}/{file}" for file in files if file.startswith(_ASKED_FOR_LATER)}
    digest = hashlib.sha256("\0".join(pages.values()).encode()).hexdigest()[:8]
    source = source.replace('const EDITION = "";', f"const EDITION = {json.dumps(f'{version}-{digest}')};")
    return source.replace("const FILES = [];", f"const FILES = {json.dumps(sorted(named | later))};")
