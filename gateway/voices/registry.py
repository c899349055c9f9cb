"""The rows of custom voices: who made them, what they are called, which audio they use."""

from __future__ import annotations

from gateway.database import Database, Voice
from gateway.database.named_rows import NamedRows, Sort

VOICES = Sort(Voice, "voice", "v", lock=0x766F79)

is_id, name_taken, unknown_voice = VOICES.is_id, VOICES.name_taken, VOICES.unknown
"""`is_id`: such a reference is no name that a worker would give a voice."""


class VoiceRegistry(NamedRows[Voice]):
    """Custom voices in the database."""

    def __init__(self, database: Database, max_voices: int, max_per_owner: int) -> None:
        super().__init__(database, VOICES, max_voices, max_per_owner)
