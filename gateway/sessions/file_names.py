"""What the files of a recording are called: words of its title, its voice and its day."""

from __future__ import annotations

import unicodedata
from itertools import islice

from gateway.database import Job, Session
from gateway.voices.registry import is_id

_WORDS = 8
_TITLE_BYTES, _VOICE_BYTES = 120, 40


def stem_of(row: Session | Job) -> str:
    """Such as "the-quick-brown-fox-ruth-2026-03-01": letters, digits and hyphens alone, at most 180 bytes."""
    voice = "" if row.voice == "default" or is_id(row.voice) else row.voice
    parts = (
        _words(row.title, _TITLE_BYTES) or "speech",
        _words(voice, _VOICE_BYTES),
        f"{row.created_at:%Y-%m-%d}",
    )
    return "-".join(filter(None, parts))


def _words(text: str, most_bytes: int) -> str:
    letters = (character if _is_letter(character) else " " for character in text.casefold())
    words = "-".join(islice("".join(letters).split(), _WORDS))
    return words.encode()[:most_bytes].decode(errors="ignore").strip("-")


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"
