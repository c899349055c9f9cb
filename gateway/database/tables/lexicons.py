"""How words are said for an owner."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from gateway.database.tables.base import Base, now


class OwnerLexicon(Base):
    """How words are said for one owner."""

    __tablename__ = "lexicons"

    owner: Mapped[str] = mapped_column(String(160), primary_key=True)
    """A tenant; empty for the service's own."""
    entries: Mapped[dict[str, Any]]
    """What is said for each word."""
    updated_at: Mapped[datetime] = mapped_column(default=now)
