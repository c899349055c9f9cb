"""What holds of a path, or of all below /two/names/ where a key ends with a slash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")


def at_path(path: str, values: Mapping[str, Value], otherwise: Value) -> Value:
    """The value of `path` itself, else of everything below its first two names, else `otherwise`."""
    if path in values:
        return values[path]
    below = "/".join(path.split("/", 3)[:3]) + "/"
    return values.get(below, otherwise)
