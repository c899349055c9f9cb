"""What outlives the process: voices, adapters, lexicons, sessions, jobs, trainings, changed settings.

tables/          the tables; each change has a migration in migrations/versions/
address.py       where it is: SQLite in the data folder, or PostgreSQL by URL
connection.py    connections to it, and their transactions
belonging.py     which data folder is this database's
trial.py         whether it can be used, without a change to it
present.py       what time it is for what goes by its age
ahead.py         since when it is known that something is dated ahead
journal.py       what SQLite keeps of what was deleted, and how long
reserve.py       room for deleting on a full disk
transactions.py  those that read, decide and then write
repeats.py       requests that a client repeats
pages.py         lists that are told page by page
named_rows.py    rows with an owner and a name, such as voices
names.py         their names as they are looked up
"""

from gateway.database.address import DatabaseError
from gateway.database.connection import Database
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
