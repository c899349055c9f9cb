"""What outlives the process: voices, lexicons, the index of sessions, settings changed at run time."""

from gateway.database.connection import Database, DatabaseError
from gateway.database.tables import Event, OwnerLexicon, Session, Setting, Voice, VoiceConsent

__all__ = [
    "Database",
    "DatabaseError",
    "Event",
    "OwnerLexicon",
    "Session",
    "Setting",
    "Voice",
    "VoiceConsent",
]
