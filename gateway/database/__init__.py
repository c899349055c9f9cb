"""What outlives the process: voices, adapters, lexicons, the index of sessions, jobs, changed settings."""

from gateway.database.connection import Database, DatabaseError
from gateway.database.tables import (
    Adapter,
    Book,
    BookBlock,
    Event,
    FigureSpan,
    Job,
    NamedRow,
    OpenRequests,
    OwnerLexicon,
    Session,
    Setting,
    Voice,
    VoiceConsent,
)

__all__ = [
    "Adapter",
    "Book",
    "BookBlock",
    "Database",
    "DatabaseError",
    "Event",
    "FigureSpan",
    "Job",
    "NamedRow",
    "OpenRequests",
    "OwnerLexicon",
    "Session",
    "Setting",
    "Voice",
    "VoiceConsent",
]
