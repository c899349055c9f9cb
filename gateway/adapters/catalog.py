"""How the API shows adapters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from gateway.database import Adapter
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement
from gateway.voices import consent
from gateway.voices.catalog import is_of


def listed(pool: WorkerPool, rows: Iterable[Adapter], tenant: str | None) -> list[dict[str, Any]]:
    """The rows as `tenant` sees them, by name."""
    described = [describe(pool, row, tenant) for row in rows]
    return sorted(described, key=lambda adapter: (adapter["name"].casefold(), adapter["id"]))


def describe(pool: WorkerPool, row: Adapter, tenant: str | None) -> dict[str, Any]:
    """An adapter as everybody may see it."""
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "model": row.model,
        "rank": row.rank,
        "layers": row.num_layers,
        "parameters": row.num_parameters,
        "owner_is_me": is_of(row, tenant),
        "usable": is_usable(pool, row),
    }


def describe_all(pool: WorkerPool, row: Adapter, tenant: str | None) -> dict[str, Any]:
    """An adapter as its owner and administrators see it."""
    return {
        **describe(pool, row, tenant),
        "digest": row.digest,
        "model_revision": row.model_revision,
        "base": row.base,
        "size_bytes": row.size_bytes,
        "consent": consent.described(row),
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
    }


def spoken_names(pool: WorkerPool, rows: Iterable[Adapter]) -> list[str]:
    """What clients name as a model, "model:adapter", for every adapter that can be used now.

    By id where two adapters of a model have the same name.
    """
    usable = [row for row in rows if is_usable(pool, row)]
    count = Counter((row.model, row.name.casefold()) for row in usable)
    return sorted(
        f"{row.model}:{row.name if count[row.model, row.name.casefold()] == 1 else row.id}" for row in usable
    )


def is_usable(pool: WorkerPool, row: Adapter) -> bool:
    """Whether somebody agreed to its use, and a worker is there that can speak with it."""
    return consent.is_given(row) and _is_served(pool, row)


def _is_served(pool: WorkerPool, row: Adapter) -> bool:
    needed = Requirement(row.model, revision=row.model_revision, adapters=True)
    return any(worker.offers(needed) for worker in pool.workers.values())
