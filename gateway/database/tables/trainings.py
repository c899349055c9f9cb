"""Trainings of voices, and their recordings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from gateway.database.tables.asked import AskedRow
from gateway.database.tables.base import Base, now
from gateway.database.tables.tended import TendedRow


class Training(TendedRow, Base):
    """A voice that is trained by recordings."""

    __tablename__ = "trainings"

    name: Mapped[str] = mapped_column(String(128))
    """The name of the voice to be."""
    language: Mapped[str | None] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16), default="collecting", index=True)
    """As those of other rows; before them "collecting"."""
    consent_by: Mapped[str] = mapped_column(String(160))
    consent_statement: Mapped[str] = mapped_column(Text)
    steps: Mapped[int]
    started_at: Mapped[datetime | None]
    recordings: Mapped[int] = mapped_column(default=0)
    audio_seconds: Mapped[float] = mapped_column(default=0.0)
    """Seconds of all recordings."""
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """What its process has told, as the API tells it."""
    adapter_id: Mapped[str | None] = mapped_column(String(32))
    voice_id: Mapped[str | None] = mapped_column(String(32))
    """What came of it."""


class TrainingRecording(AskedRow, Base):
    """One recording of a training; its audio is in the training's folder, named by its id."""

    __tablename__ = "training_recordings"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    training_id: Mapped[str] = mapped_column(String(40), index=True)
    name: Mapped[str] = mapped_column(String(128))
    transcript: Mapped[str] = mapped_column(Text)
    audio_seconds: Mapped[float]
    checks: Mapped[list[Any]] = mapped_column(JSON, default=list)
    """Remarks on it, as the API tells them."""
    created_at: Mapped[datetime] = mapped_column(default=now)
