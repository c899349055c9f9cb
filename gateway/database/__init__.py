"""What outlives the process: voices, the index of sessions, settings changed at run time."""

from gateway.database.connection import Database, DatabaseError
from gateway.database.tables import Event, Session, Setting, Voice

__all__ = ["Database", "DatabaseError", "Event", "Session", "Setting", "Voice"]
