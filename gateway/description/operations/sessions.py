"""Recordings of what was spoken with `record`."""

from __future__ import annotations

from gateway.description.media import WORDS
from gateway.description.operation import Given, Operation, Tag

_ID = {"id": Given("session")}

TAG = Tag(
    "Sessions",
    "What was spoken with `record`: text, audio and times, for its owner to hear, keep and share.",
    (
        Operation(
            "GET",
            "/api/sessions",
            "List and search sessions",
            parameters={"limit": 50, "search": "doors"},
            until=("sessions.0.state", "complete"),
        ),
        Operation("GET", "/api/sessions/{id}", "Read a session", parameters=_ID),
        Operation(
            "PATCH",
            "/api/sessions/{id}",
            "Name or comment a session",
            parameters=_ID,
            body={"title": "Opening hours", "comment": "For the door."},
        ),
        Operation("GET", "/api/sessions/{id}/audio", "Hear a session", parameters=_ID),
        Operation(
            "GET",
            "/api/sessions/{id}/audio/{index}",
            "Hear one utterance of a session",
            parameters={**_ID, "index": 0},
        ),
        Operation(
            "GET",
            "/api/sessions/{id}/words.{form}",
            "Subtitles and times of words of a session",
            parameters={**_ID, "form": "vtt"},
            media=WORDS,
        ),
        Operation("GET", "/api/sessions/{id}/download", "Download a session", parameters=_ID),
        Operation(
            "POST", "/api/sessions/download", "Download several sessions", body={"ids": [Given("session")]}
        ),
        Operation("POST", "/api/sessions/{id}/share", "Share a session", parameters=_ID),
        Operation("DELETE", "/api/sessions/{id}/share", "Stop sharing a session", parameters=_ID),
        Operation("DELETE", "/api/sessions/{id}", "Delete a session", parameters=_ID),
    ),
)
