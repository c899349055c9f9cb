"""Rows that clients ask for, and may ask for again because they never heard of them."""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column


class AskedRow:
    """Columns by which the request that made a row is known again; both None where it named no key."""

    request_key: Mapped[str | None] = mapped_column(String(64), unique=True, index=True)
    """The sum of its owner and of the key in its `Idempotency-Key`."""
    request_sum: Mapped[str | None] = mapped_column(String(64))
    """The sum of what it asked for."""
