"""A model and an adapter in one name, "voxcpm:anna", for protocols that have no field for an adapter."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def named_model(name: str | None, served: Collection[str]) -> dict[str, Any]:
    """`model` and `adapter` of a request that names a model of another service, or one of ours.

    A name that nobody serves means whichever is served, as clients of other services come with theirs. But
    what stands behind ":" is meant: an adapter, of its own model where the one before it is not served.
    """
    if name is None or name in served:
        return {"model": name}
    if ":" not in name:
        return {"model": None}
    model = next((before for before in _before_signs(name) if before in served), None)
    adapter = name.partition(":")[2] if model is None else name[len(model) + 1 :]
    return {"model": model, "adapter": adapter} if adapter else {"model": name}


def _before_signs(name: str) -> list[str]:
    return [name[:place] for place, sign in enumerate(name) if sign == ":"]
