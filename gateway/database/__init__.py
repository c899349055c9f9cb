"""What outlives the process: voices, lexicons, the index of sessions, jobs, settings changed at run time."""

from gateway.database.connection import Database, DatabaseError
from gateway.database.tables import (
    Book,
    BookBlock,
    Event,
    FigureSpan,
    Job,
    OwnerLexicon,
    Session,
    Setting,
    Voice,
    VoiceConsent,
)

__all__ = [
    "Book",
    "BookBlock",
    "Database",
    "DatabaseError",
    "Event",
    "FigureSpan",
    "Job",
    "OwnerLexicon",
    "Session",
    "Setting",
    "Voice",
    "VoiceConsent",
]
