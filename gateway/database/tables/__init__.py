"""The tables, one class per row. A change here needs a migration beside it (`migrations/versions/`).

base.py        what all of them share
asked.py       columns by which a repeated request is known
named.py       columns of what somebody made and named
tended.py      columns of what gateways work on while nobody waits
voices.py      voices, adapters, consents
sessions.py    recorded sessions
long_texts.py  jobs and books
trainings.py   trainings and their recordings
lexicons.py    how words are said for an owner
operations.py  settings, events and figures; what clients have open elsewhere; what is dated ahead

Times are UTC; JSON columns hold plain lists and mappings. Audio is not in the database: files are, by the
hash of their content.
"""

from gateway.database.tables.asked import AskedRow
from gateway.database.tables.base import Base, UtcDateTime, now
from gateway.database.tables.lexicons import OwnerLexicon
from gateway.database.tables.long_texts import Book, BookBlock, Job
from gateway.database.tables.named import NamedRow, folded_name
from gateway.database.tables.operations import DatedAhead, Event, FigureSpan, OpenRequests, Setting
from gateway.database.tables.sessions import Session
from gateway.database.tables.tended import TendedRow
from gateway.database.tables.trainings import Training, TrainingRecording
from gateway.database.tables.voices import Adapter, Voice, VoiceConsent

__all__ = [
    "Adapter",
    "AskedRow",
    "Base",
    "Book",
    "BookBlock",
    "DatedAhead",
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
    "UtcDateTime",
    "Voice",
    "VoiceConsent",
    "folded_name",
    "now",
]
