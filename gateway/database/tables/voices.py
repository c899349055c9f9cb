"""Voices, what adapts a model to one, and who agreed to their use."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column, synonym

from gateway.database.tables.asked import AskedRow
from gateway.database.tables.base import Base, now
from gateway.database.tables.named import NamedRow


class Voice(NamedRow, Base):
    """A voice that somebody recorded or uploaded."""

    __tablename__ = "voices"

    language: Mapped[str | None] = mapped_column(String(16))
    tags: Mapped[list[str]] = mapped_column(default=list)
    audio_sha256: Mapped[str] = mapped_column(String(64), index=True)
    """Names the file of its reference audio."""
    content: Mapped[str] = synonym("audio_sha256")
    audio_seconds: Mapped[float]
    loudness_lufs: Mapped[float]
    transcript: Mapped[str | None] = mapped_column(Text)
    """The words of the audio, which make it a prompt to be continued."""
    parameters: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Values of `TtsRequest` fields that hold where a request says nothing."""


class Adapter(NamedRow, Base):
    """What fine-tuning learnt: some matrices that are added to a model (LoRA); its files are beside."""

    __tablename__ = "adapters"

    digest: Mapped[str] = mapped_column(String(64), index=True)
    """SHA-256 of its file, which it names; of a row of before, what a worker said of what is heard."""
    content: Mapped[str] = synonym("digest")
    model: Mapped[str] = mapped_column(String(256))
    model_revision: Mapped[str] = mapped_column(String(256))
    """The revision of the model that it was found to fit."""
    base: Mapped[str] = mapped_column(Text, default="")
    """What it was trained on, as far as its files tell."""
    rank: Mapped[int]
    num_layers: Mapped[int]
    num_parameters: Mapped[int] = mapped_column(BigInteger)
    size_bytes: Mapped[int] = mapped_column(BigInteger)


class VoiceConsent(AskedRow, Base):
    """A recording in which somebody agrees to the use of a voice; voices are made under it."""

    __tablename__ = "voice_consents"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(128))
    language: Mapped[str] = mapped_column(String(16))
    owner: Mapped[str] = mapped_column(String(160), index=True)
    """The tenant that sent it."""
    audio_sha256: Mapped[str] = mapped_column(String(64), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
