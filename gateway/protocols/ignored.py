"""Telling a client which of its fields nothing was done with."""

from __future__ import annotations

import re
from collections.abc import Iterable

HEADER = "X-Ignored-Fields"
_MOST_NAMED = 20
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def ignored_fields(names: Iterable[str]) -> dict[str, str]:
    """A header that names them, and counts those that are not fit for one; none where there are none."""
    ignored = set(names)
    named = sorted(name for name in ignored if _NAME.fullmatch(name))[:_MOST_NAMED]
    if others := len(ignored) - len(named):
        named.append(f"{others} more")
    return {HEADER: ", ".join(named)} if named else {}
