"""Reading dataclasses out of the objects of a configuration file, and the error that names what is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


class ConfigError(ValueError):
    """The configuration lacks a field, or holds a value this model cannot have."""


def section(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object of that name inside `data`."""
    found = data.get(name)
    if not isinstance(found, Mapping):
        raise ConfigError(f"{name} is missing or is not an object")
    return found


def build(cls: type, data: Mapping[str, Any], where: str) -> Any:
    """Construct a dataclass from the keys it knows; keys it does not know are the file's own affair."""
    known = {f.name: f for f in dataclasses.fields(cls)}
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
    missing = [
        name
        for name, f in known.items()
        if name not in values
        and f.default is dataclasses.MISSING
        and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ConfigError(f"{where} lacks {', '.join(missing)}")
    return cls(**values)
