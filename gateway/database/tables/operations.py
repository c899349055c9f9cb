"""What operators see and switch, and what gateways tell each other."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from gateway.database.tables.base import Base, now


class Setting(Base):
    """A setting changed at run time: it outlives a restart and holds for every gateway."""

    __tablename__ = "settings"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[dict[str, Any]]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class Event(Base):
    """One line of the operators' log: a worker came or went, somebody drained one or changed a setting."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    at: Mapped[datetime] = mapped_column(default=now, index=True)
    kind: Mapped[str] = mapped_column(String(32))
    subject: Mapped[str] = mapped_column(String(160), default="")
    message: Mapped[str] = mapped_column(Text, default="")
    saying: Mapped[str | None] = mapped_column(String(32))
    """What the message says, by name; None where its words are somebody else's."""
    facts: Mapped[dict[str, Any] | None]
    """Values of the saying, by name."""


class OpenRequests(Base):
    """What a client with a limit has open at one gateway; see `gateway/callers/elsewhere.py`."""

    __tablename__ = "open_requests"

    gateway: Mapped[str] = mapped_column(String(16), primary_key=True)
    """One process of one."""
    client: Mapped[str] = mapped_column(String(64), primary_key=True)
    """A digest: the database need not know who it is."""
    beat: Mapped[int]
    """How often the gateway has written."""
    streams: Mapped[int]
    sessions: Mapped[int]


class DatedAhead(Base):
    """Something that is dated ahead of the clock; see `gateway/database/ahead.py`."""

    __tablename__ = "dated_ahead"

    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    since: Mapped[datetime]
    """When that was noticed."""


class FigureSpan(Base):
    """What one gateway measured in a span of time, for the graphs of the admin page."""

    __tablename__ = "figures"

    length: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Seconds."""
    at: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    """When it begins, in seconds since 1970."""
    gateway: Mapped[str] = mapped_column(String(16), primary_key=True)
    """One process of one."""
    figures: Mapped[dict[str, Any]]
