"""What outlives the process: voices, adapters, lexicons, sessions, jobs, trainings, changed settings."""

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
    TendedRow,
    Training,
    TrainingRecording,
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
    "TendedRow",
    "Training",
    "TrainingRecording",
    "Voice",
    "VoiceConsent",
]
