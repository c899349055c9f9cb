"""Texts that are spoken while nobody waits: jobs, and books, whose takes are jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from gateway.database.tables.asked import AskedRow
from gateway.database.tables.base import Base, now
from gateway.database.tables.tended import TendedRow


class Job(TendedRow, Base):
    """A text that is spoken without anybody waiting for it."""

    __tablename__ = "jobs"

    title: Mapped[str] = mapped_column(String(160), default="")
    voice: Mapped[str] = mapped_column(String(128), default="default")
    format: Mapped[str] = mapped_column(String(16), default="mp3")
    timestamps: Mapped[str] = mapped_column(String(16), default="none")
    """"none", "word" or "character"."""
    characters: Mapped[int] = mapped_column(default=0)
    parts: Mapped[int] = mapped_column(default=0)
    """How many parts of the text have audio on disk; the next columns are about these."""
    place: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Where its clip stands behind them."""
    characters_done: Mapped[int] = mapped_column(default=0)
    sample_rate: Mapped[int] = mapped_column(default=0)
    audio_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    spent_seconds: Mapped[float] = mapped_column(default=0.0)
    """Seconds that the parts took, waits included."""
    finish_reason: Mapped[str | None] = mapped_column(String(16))
    book_id: Mapped[str | None] = mapped_column(String(40), index=True)
    """The book, and below the block, of which the job is a take; None: a job by itself."""
    block_id: Mapped[str | None] = mapped_column(String(40), index=True)
    seed: Mapped[int | None] = mapped_column(BigInteger)
    """The seed of a take; `said` is the sum of what it says."""
    said: Mapped[str | None] = mapped_column(String(64))
    precedence: Mapped[int] = mapped_column(default=0)
    """What somebody asked for by itself goes before others of the same owner."""


class Book(AskedRow, Base):
    """A text in blocks, each of which is spoken by itself: its takes are jobs."""

    __tablename__ = "books"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    owner: Mapped[str] = mapped_column(String(160), index=True)
    title: Mapped[str] = mapped_column(String(160))
    voice: Mapped[str] = mapped_column(String(128))
    language: Mapped[str | None] = mapped_column(String(16))
    version: Mapped[int] = mapped_column(default=1)
    """Counts the changes of its blocks."""
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)
    updated_at: Mapped[datetime] = mapped_column(default=now)
    """When it was last changed, spoken or fetched."""
    size_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """Bytes of its own files; takes count their own."""


class BookBlock(Base):
    """A chapter's heading or a paragraph of a book."""

    __tablename__ = "book_blocks"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    book_id: Mapped[str] = mapped_column(String(40), index=True)
    position: Mapped[int]
    kind: Mapped[str] = mapped_column(String(16))
    """"chapter" or "paragraph"."""
    text: Mapped[str] = mapped_column(Text)
    voice: Mapped[str | None] = mapped_column(String(128))
    """None: the book's."""
    pause_ms: Mapped[int]
    pronunciations: Mapped[dict[str, Any]] = mapped_column(default=dict)
    said: Mapped[str] = mapped_column(String(64))
    """The sum of all that a take of it depends on but the seed; empty where it has no words."""
    take: Mapped[str | None] = mapped_column(String(40))
    """The job that somebody chose."""
    take_said: Mapped[str | None] = mapped_column(String(64))
    """`said` at that time."""
