"""What holds of a path, or of all below /two/names/ where a key ends with a slash; what a log has of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")


def at_path(path: str, values: Mapping[str, Value], otherwise: Value) -> Value:
    """The value of `path` itself, else of everything below its first two names, else `otherwise`."""
    if path in values:
        return values[path]
    below = "/".join(path.split("/", 3)[:3]) + "/"
    return values.get(below, otherwise) if path.startswith(below) else otherwise


def told_path(path: str) -> str:
    """Its first two names. Those behind them are a client's: a word of its lexicon, a sealed text."""
    first = "/".join(path.split("/", 3)[:3])
    return first if first == path else f"{first}/..."
