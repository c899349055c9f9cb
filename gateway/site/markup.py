"""A page's HTML with the addresses of its edition.

A line `<!-- parts/head.html -->` becomes that file, in which pages have what they share. `/static/js/...`
becomes `/static/<version>/js/...`; a page's style sheets become one, and so do the modules of its script.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

PART = re.compile(r"^[ \t]*<!-- parts/(?P<name>[\w-]+\.html) -->\n", re.MULTILINE)
STYLE = re.compile(r'[ \t]*<link rel="stylesheet" href="/static/([\w./-]+)">\n')
SCRIPT = re.compile(
    r'(?<=<script type="module" )(?P<other>[^>]*)src="/static/(?P<path>[\w./-]+)"(?=></script>)'
)
_ADDRESS = re.compile(r'((?:href|src)=")/static/')


def joined(markup: str, parts: Mapping[str, str]) -> str:
    """The page with the parts that it names. Raises KeyError for one that is not there."""
    return PART.sub(lambda match: parts[match["name"]], markup)


def bundled(markup: str, *, style: str | None, script: str | None) -> str:
    """The page with one style sheet and one script instead of its own; None leaves them as they are."""
    if style is not None:
        styles = iter([f'  <link rel="stylesheet" href="/static/{style}">\n'])
        markup = STYLE.sub(lambda _: next(styles, ""), markup)
    if script is not None:
        markup = SCRIPT.sub(rf'\g<other>src="/static/{script}"', markup)
    return markup


def addressed(markup: str, version: str) -> str:
    """The page with addresses of one edition."""
    return _ADDRESS.sub(rf"\g<1>/static/{version}/", markup)
