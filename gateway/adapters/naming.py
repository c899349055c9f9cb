"""A model and an adapter in one name, "bundled:anna", for protocols that have no field for an adapter."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def named_model(name: str | None, served: Collection[str]) -> dict[str, Any]:
    """`model` and `adapter` of a request that names a model of another service, or one of ours.

    A name that nobody serves means whichever is served, as clients of other services come with theirs.
    """
    if name is None or name in served:
        return {"model": name}
    for place, sign in enumerate(name):
        if sign == ":" and name[:place] in served and name[place + 1 :]:
            return {"model": name[:place], "adapter": name[place + 1 :]}
    return {"model": None}
