"""Rows of what gateways work on while nobody waits."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from gateway.database.tables.asked import AskedRow
from gateway.database.tables.base import now


class TendedRow(AskedRow):
    """Columns of what gateways work on while nobody waits; its files are in a folder named by its id."""

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    owner: Mapped[str] = mapped_column(String(160), index=True)
    state: Mapped[str] = mapped_column(String(16), default="queued", index=True)
    """"queued", "running", "complete", "failed" or "cancelled"."""
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)
    ended_at: Mapped[datetime | None]
    used_at: Mapped[datetime] = mapped_column(default=now, index=True)
    """When it was last written or fetched; the least recently used goes first."""
    size_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """Bytes of all its files."""
    error_code: Mapped[str | None] = mapped_column(String(64))
    error_message: Mapped[str | None] = mapped_column(Text)
