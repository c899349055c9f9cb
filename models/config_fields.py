"""Reading configuration files and dataclasses out of their objects; the error that names what is wrong."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

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


def read_generation(
    directory: Path, numbers: Mapping[str, Bounds], kinds: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What the file says, but for fields that are null; nothing where there is no such file.

    kinds: types of other fields. Raises ConfigError, naming the file and the field whose value is of another
    kind, or outside of its bounds in `numbers`.
    """
    path = directory / "generation_config.json"
    found = {name: value for name, value in read_json(path, optional=True).items() if value is not None}
    for name, bounds in numbers.items():
        if name in found and not bounds.hold(found[name]):
            raise ConfigError(f"{path}: {name} must be {bounds}, got {found[name]!r}")
    for name, kind in (kinds or {}).items():
        if name in found:
            found[name] = _field(kind, found[name], str(path), name)
    return found


def section(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object of that name inside `data`. Raises ConfigError where there is none."""
    found = data.get(name)
    if not isinstance(found, Mapping):
        raise ConfigError(f"{name} is missing or is not an object")
    return found


def build(cls: type, data: Mapping[str, Any], where: str) -> Any:
    """Construct a dataclass from the keys it knows; keys it does not know are the file's own affair.

    Raises ConfigError for a field that is missing or of another kind.
    """
    known = {f.name: f for f in dataclasses.fields(cls)}
    hints = get_type_hints(cls)
    values = {name: _field(hints[name], data[name], where, name) for name in known if name in data}
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


def _field(hint: Any, value: Any, where: str, name: str) -> Any:
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"]
        raise ConfigError(f"{where}: {name} is {value!r}: {problem}") from None


def check_sizes(config: Any, *names: str, where: str = "") -> None:
    """Raises ConfigError for the first of these fields that is below 1, or of whose values one is.

    where: what stands before the name in the error, as "encoder_config.".
    """
    for name in names:
        value = getattr(config, name)
        values = value if isinstance(value, tuple) else (value,)
        if any(size is not None and size < 1 for size in values):
            raise ConfigError(f"{where}{name} must be at least 1, got {value}")
