"""Live sessions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from gateway.settings.kinds import Seconds


class LiveSettings(BaseModel):
    """Live sessions."""

    live_session_seconds: Seconds = 3600.0
    """How long a live session may last."""
    live_idle_seconds: Seconds = 120.0
    """After so long without new text and speech, a live session that is not paused is warned, then closed."""
    live_pause_seconds: Seconds = 60.0
    """How long a paused live session keeps its slot; a fifth of it while others wait for one."""
    live_slot_seconds: Seconds = 10.0
    """How long a live session with nothing to say keeps its slot; a fifth of it while others wait for one."""
    live_flush_seconds: Seconds = 3.0
    """Text that stops in mid-sentence is spoken after so long; what may be a sentence after a tenth of it."""
    live_text_characters: Annotated[int, Field(gt=0)] = 8192
    """Appended text of a live session that nobody has begun to speak; more is refused."""
