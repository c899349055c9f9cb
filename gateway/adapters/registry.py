"""The rows of adapters: who sent them, what they are called, which file they have."""

from __future__ import annotations

from gateway.database import Adapter, Database
from gateway.database.named_rows import NamedRows, Sort

ADAPTERS = Sort(Adapter, "adapter", "a", lock=0x766F7C)


class AdapterRegistry(NamedRows[Adapter]):
    """Adapters in the database."""

    def __init__(self, database: Database, max_adapters: int, max_per_owner: int) -> None:
        super().__init__(database, ADAPTERS, max_adapters, max_per_owner)
