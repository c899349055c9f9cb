"""Rows of what somebody made and named: who owns it, and who agreed to its use."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column, validates

from gateway.database.tables.asked import AskedRow
from gateway.database.tables.base import now


def folded_name(name: str) -> str:
    """One for all forms and cases of the same letters, in which databases disagree beyond ASCII."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class NamedRow(AskedRow):
    """Columns of what somebody made. `content`: the column with the hash that names its file."""

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(128))
    folded_name: Mapped[str | None] = mapped_column(Text, index=True)
    """By which it is looked up; None in a row of a gateway of a former version."""
    description: Mapped[str] = mapped_column(Text, default="")
    owner: Mapped[str] = mapped_column(String(160), index=True)
    """The tenant that sent it."""
    consent_by: Mapped[str | None] = mapped_column(String(160))
    consent_statement: Mapped[str | None] = mapped_column(Text)
    consent_at: Mapped[datetime | None]
    consent_sha256: Mapped[str | None] = mapped_column(String(64))
    """SHA-256 of statement, person, time and content: what was consented to can't be changed unseen."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)

    @validates("name")
    def _fold(self, column: str, name: str) -> str:
        self.folded_name = folded_name(name)
        return name
