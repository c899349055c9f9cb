"""The tables, one class per row. A change here needs a migration beside it (`migrations/versions/`).

Times are UTC; JSON columns hold plain lists and mappings. Audio is not in the database: files are, by the
hash of their content.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Double, String, Text, TypeDecorator
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, synonym, validates


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time: aware in Python, UTC in the database, also where that keeps no time zone (SQLite)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuses naive times."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Back to an aware time."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def now() -> datetime:
    """The present, as the tables keep it."""
    return datetime.now(UTC)


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {float: Double, datetime: UtcDateTime, dict[str, Any]: JSON, list[str]: JSON}


def folded_name(name: str) -> str:
    """One for all forms and cases of the same letters, in which databases disagree beyond ASCII."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class NamedRow:
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
    """Of statement, person, time and content together: what was consented to can't be changed unseen."""
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)

    @validates("name")
    def _fold(self, column: str, name: str) -> str:
        self.folded_name = folded_name(name)
        return name


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
    """Of everything in it that changes what is heard; names its file."""
    content: Mapped[str] = synonym("digest")
    model: Mapped[str] = mapped_column(String(256))
    model_revision: Mapped[str] = mapped_column(String(256))
    """That it was found to fit."""
    base: Mapped[str] = mapped_column(Text, default="")
    """What it was trained on, as far as its files tell."""
    rank: Mapped[int]
    num_layers: Mapped[int]
    num_parameters: Mapped[int] = mapped_column(BigInteger)
    size_bytes: Mapped[int] = mapped_column(BigInteger)


class VoiceConsent(Base):
    """A recording in which somebody agrees to the use of a voice; voices are made under it."""

    __tablename__ = "voice_consents"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(128))
    language: Mapped[str] = mapped_column(String(16))
    owner: Mapped[str] = mapped_column(String(160), index=True)
    """The tenant that sent it."""
    audio_sha256: Mapped[str] = mapped_column(String(64), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


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
    """Of the first utterance."""
    search_title: Mapped[str | None] = mapped_column(Text)
    search_text: Mapped[str | None] = mapped_column(Text, deferred=True)
    """Title and words as `gateway.sessions.search` folds them; None: recorded before there was a search."""


class TendedRow:
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
    """Of all its files."""
    error_code: Mapped[str | None] = mapped_column(String(64))
    error_message: Mapped[str | None] = mapped_column(Text)


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
    """Of the text, whose audio is on disk; what follows is about them."""
    place: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Where its clip stands behind them."""
    characters_done: Mapped[int] = mapped_column(default=0)
    sample_rate: Mapped[int] = mapped_column(default=0)
    audio_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    spent_seconds: Mapped[float] = mapped_column(default=0.0)
    """That its parts took, waits included."""
    finish_reason: Mapped[str | None] = mapped_column(String(16))
    book_id: Mapped[str | None] = mapped_column(String(40), index=True)
    """Of a take: the book and the block that it is of. None: a job by itself."""
    block_id: Mapped[str | None] = mapped_column(String(40), index=True)
    seed: Mapped[int | None] = mapped_column(BigInteger)
    """Of a take, which says what `said` is the sum of."""
    said: Mapped[str | None] = mapped_column(String(64))
    precedence: Mapped[int] = mapped_column(default=0)
    """What somebody asked for by itself goes before others of the same owner."""


class Book(Base):
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
    """Of its own files; its takes have theirs."""


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


class Training(TendedRow, Base):
    """A voice that is trained by recordings."""

    __tablename__ = "trainings"

    name: Mapped[str] = mapped_column(String(128))
    """Of the voice to be."""
    language: Mapped[str | None] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16), default="collecting", index=True)
    """As those of other rows; before them "collecting"."""
    consent_by: Mapped[str] = mapped_column(String(160))
    consent_statement: Mapped[str] = mapped_column(Text)
    steps: Mapped[int]
    started_at: Mapped[datetime | None]
    recordings: Mapped[int] = mapped_column(default=0)
    audio_seconds: Mapped[float] = mapped_column(default=0.0)
    """Of all recordings."""
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """What its process has told, as the API tells it."""
    adapter_id: Mapped[str | None] = mapped_column(String(32))
    voice_id: Mapped[str | None] = mapped_column(String(32))
    """What came of it."""


class TrainingRecording(Base):
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


class OwnerLexicon(Base):
    """How words are said for one owner."""

    __tablename__ = "lexicons"

    owner: Mapped[str] = mapped_column(String(160), primary_key=True)
    """A tenant; empty for the service's own."""
    entries: Mapped[dict[str, Any]]
    """What is said for each word."""
    updated_at: Mapped[datetime] = mapped_column(default=now)


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
    """What the saying tells it of."""


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
