"""The adapters of one engine, by name, in the form of its model.

pool = AdapterPool(lambda adapter: load_adapter(model, adapter), limit=32)
pool.add("anna", adapter)
pool.get("anna")            # for one request; it keeps what it has when the name goes
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from engine.errors import RequestError
from models.lora.adapter import Adapter, AdapterError
from models.lora.rows import LoadedAdapter

MAX_NAME_CHARACTERS = 100
Form = TypeVar("Form")


@dataclass(frozen=True)
class AdapterInfo:
    """What is told of an adapter."""

    name: str
    digest: str
    rank: int
    num_layers: int
    num_parameters: int
    base: str
    num_bytes: int
    """In memory, in the form of the model."""
    enabled: bool


class AdapterPool:
    """Safe to call from several threads.

    Args:
        load: puts an adapter into the form of the model. Raises RequestError where that form takes none.
        limit: of adapters at once.
    """

    def __init__(self, load: Callable[[Adapter], LoadedAdapter], limit: int) -> None:
        self._load, self.limit = load, limit
        self._lock = threading.Lock()
        self._adapters: dict[str, tuple[AdapterInfo, LoadedAdapter]] = {}

    def add(self, name: str, adapter: Adapter) -> AdapterInfo:
        """Replaces one of the same name. Raises AdapterError, RequestError."""
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARACTERS:
            allowed = f"1 to {MAX_NAME_CHARACTERS} characters"
            raise AdapterError(f"an adapter's name has {allowed}, got {name!r:.99}")
        with self._lock:
            self._check_room(name)  # before it takes memory, on a GPU for good
        loaded = self._load(adapter)
        info = AdapterInfo(
            name,
            adapter.digest,
            adapter.rank,
            len(adapter.layers),
            adapter.num_parameters,
            adapter.base,
            loaded.num_bytes,
            True,
        )
        with self._lock:
            self._check_room(name)
            self._adapters[name] = info, loaded
        return info

    def _check_room(self, name: str) -> None:
        if name not in self._adapters and len(self._adapters) >= self.limit:
            raise AdapterError(f"{len(self._adapters)} adapters are loaded, the limit is {self.limit}")

    def remove(self, name: str) -> bool:
        """False when there is none of that name. Requests that have it go on with it."""
        with self._lock:
            return self._adapters.pop(name, None) is not None

    def clear(self) -> None:
        with self._lock:
            self._adapters.clear()

    def enable(self, enabled: bool, name: str | None = None) -> None:
        """Switch one, or all. Raises RequestError for an unknown name."""
        with self._lock:
            if name is not None:
                _found(self._adapters, name)
            for key, (info, loaded) in self._adapters.items():
                if name in (None, key):
                    self._adapters[key] = replace(info, enabled=enabled), loaded

    def listed(self) -> list[AdapterInfo]:
        with self._lock:
            return [info for info, _ in self._adapters.values()]

    def held(self) -> dict[str, tuple[AdapterInfo, LoadedAdapter]]:
        """What `put_back` takes."""
        with self._lock:
            return dict(self._adapters)

    def put_back(self, held: dict[str, tuple[AdapterInfo, LoadedAdapter]]) -> None:
        """Undo what was changed since `held`."""
        with self._lock:
            self._adapters = dict(held)

    def find(self, name: str) -> LoadedAdapter | None:
        """None where there is none of that name, or it is switched off."""
        with self._lock:
            return find_form(self._adapters, name)

    def get(self, name: str | LoadedAdapter) -> LoadedAdapter:
        """One that was got before is itself. Raises RequestError where there is none of that name, or it is
        switched off.
        """
        if not isinstance(name, str):
            return name
        with self._lock:
            return usable_form(self._adapters, name)


def find_form(adapters: Mapping[str, tuple[AdapterInfo, Form]], name: str) -> Form | None:
    """None where there is none of that name, or it is switched off."""
    info, form = adapters.get(name, (None, None))
    return form if info is not None and info.enabled else None


def usable_form(adapters: Mapping[str, tuple[AdapterInfo, Form]], name: str) -> Form:
    """Raises RequestError where there is none of that name, or it is switched off."""
    info, form = _found(adapters, name)
    if not info.enabled:
        raise RequestError(f"adapter {name!r} is switched off", param="adapter", code="adapter_disabled")
    return form


def _found(adapters: Mapping[str, tuple[AdapterInfo, Form]], name: str) -> tuple[AdapterInfo, Form]:
    if name not in adapters:
        raise RequestError(f"adapter {name!r} is unknown", param="adapter", code="unknown_adapter")
    return adapters[name]
