"""Recorded sessions."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from gateway.database.tables.base import Base, now


class Session(Base):
    """A recorded session; its files are in a folder named by its id."""

    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    """"clip" or "live"."""
    title: Mapped[str] = mapped_column(String(160), default="")
    owner: Mapped[str] = mapped_column(String(160), index=True)
    state: Mapped[str] = mapped_column(String(16), default="active", index=True)
    """"active", "complete" or "interrupted"."""
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)
    ended_at: Mapped[datetime | None]
    used_at: Mapped[datetime] = mapped_column(default=now, index=True)
    """When it was last written or looked at; the least recently used goes first."""
    utterances: Mapped[int] = mapped_column(default=0)
    audio_seconds: Mapped[float] = mapped_column(default=0.0)
    size_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    voice: Mapped[str] = mapped_column(String(128), default="default")
    comment: Mapped[str] = mapped_column(Text, default="")
    share_key: Mapped[str | None] = mapped_column(String(64), unique=True)
    """Who knows it may look at the session without owning it."""
    seed: Mapped[int | None] = mapped_column(BigInteger)
    """The seed of the first utterance."""
    search_title: Mapped[str | None] = mapped_column(Text)
    search_text: Mapped[str | None] = mapped_column(Text, deferred=True)
    """Title and words as `gateway.sessions.search` folds them; None: recorded before there was a search."""
