"""Which paragraphs Word's own styles make headings, and which nobody reads out; RTF has the same names."""

from __future__ import annotations

import re
from collections.abc import Iterable

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_SILENT = re.compile(r"toc( heading| ?\d)|table of (figures|authorities)|header|footer", re.IGNORECASE)


def level_by_names(names: Iterable[str]) -> int | None:
    """`names`: of a paragraph's style and those it is based on. Level of a heading; 0: a paragraph; None:
    nothing to be read out.
    """
    for name in names:
        if _SILENT.fullmatch(name):
            return None
        if name.lower() == "title":
            return 1
        if match := _HEADING.fullmatch(name):
            return min(6, int(match[1]))
    return 0
