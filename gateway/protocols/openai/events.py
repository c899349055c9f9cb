"""A clip as OpenAI's server-sent events: `speech.audio.delta`, at the end `speech.audio.done`.

After `speech.audio.error`, which some clients do not know, the connection is cut, which all of them notice.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from gateway.errors import ApiError
from gateway.protocols.response import Framing
from gateway.synthesis.synthesis import Outcome


class Events(Framing):
    """Audio in base64."""

    media_type = "text/event-stream"

    def audio(self, data: bytes) -> bytes:
        """The next bytes of the file."""
        return _event({"type": "speech.audio.delta", "audio": base64.b64encode(data).decode()})

    def end(self, outcome: Outcome, characters: int) -> bytes:
        """With what was taken in and given out: characters of text, and patches of audio."""
        total = characters + outcome.patches
        usage = {"input_tokens": characters, "output_tokens": outcome.patches, "total_tokens": total}
        return _event({"type": "speech.audio.done", "usage": usage})

    def broken(self, error: ApiError) -> bytes:
        """What went wrong."""
        return _event({"type": "speech.audio.error", **error.to_message()})


def _event(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, separators=(',', ':'))}\n\n".encode()
