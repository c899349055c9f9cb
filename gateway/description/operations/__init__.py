"""All operations, by tag. Examples of one tag use nothing that another tag has not made before."""

from __future__ import annotations

from gateway.description.operation import Tag
from gateway.description.operations import (
    adapters,
    administration,
    books,
    clips,
    jobs,
    lexicon,
    openai,
    services,
    sessions,
    status,
    trainings,
    voices,
)

TAGS: tuple[Tag, ...] = (
    clips.TAG,
    voices.TAG,
    adapters.TAG,
    trainings.TAG,
    lexicon.TAG,
    sessions.TAG,
    jobs.TAG,
    books.TAG,
    openai.TAG,
    services.ELEVENLABS,
    services.CARTESIA,
    services.DEEPGRAM,
    services.FISH,
    services.SELF_HOSTED,
    services.TELEPHONY,
    status.TAG,
    administration.TAG,
    administration.WORKERS,
)
