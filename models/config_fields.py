"""Reading configuration files and dataclasses out of their objects; the error that names what is wrong."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.bounds import Bounds


class ConfigError(ValueError):
    """The configuration lacks a field, or holds a value this model cannot have."""


def read_json(path: Path, optional: bool = False) -> dict[str, Any]:
    """The object that a file holds; an empty one where an optional file is missing. Raises ConfigError."""
    if not path.is_file():
        if optional:
            return {}
        raise ConfigError(f"{path.parent} has no {path.name}")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} does not hold a JSON object")
    return data


def read_generation(directory: Path, numbers: Mapping[str, Bounds]) -> dict[str, Any]:
    """What the file says, but for fields that are null; nothing where there is no such file.

    Raises ConfigError, naming the file and the field whose value is outside of its bounds in `numbers`.
    """
    path = directory / "generation_config.json"
    found = {name: value for name, value in read_json(path, optional=True).items() if value is not None}
    for name, bounds in numbers.items():
        if name in found and not bounds.hold(found[name]):
            raise ConfigError(f"{path}: {name} must be {bounds}, got {found[name]!r}")
    return found


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
