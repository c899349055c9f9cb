"""Voices: those of the model, and one's own."""

from __future__ import annotations

from gateway.description.operation import Given, Operation, Tag
from gateway.voices.fields import CheckForm, TrialForm, VoiceForm

_ID = {"id": Given("voice")}
_CONSENT = {"consent_by": "Ruth Example", "consent_statement": "I agree that this voice is used."}

TAG = Tag(
    "Voices",
    "Voices of the model and of one's own. No voice is used without the consent of whose voice it is.",
    (
        Operation("GET", "/api/voices", "List voices", access="public"),
        Operation(
            "GET",
            "/api/voices/consent",
            "What somebody agrees to whose voice is used",
            access="public",
            parameters={"language": "en"},
        ),
        Operation(
            "POST",
            "/api/voices/checks",
            "Check a recording",
            file="audio",
            upload="audio/wav",
            fields=CheckForm,
        ),
        Operation(
            "POST",
            "/api/voices/trial",
            "Hear a voice before it is kept",
            file="audio",
            upload="audio/wav",
            form=_CONSENT,
            fields=TrialForm,
        ),
        Operation(
            "POST",
            "/api/voices",
            "Make a voice of a recording",
            file="audio",
            upload="audio/wav",
            form={"name": "Ruth", "language": "en", "tags": "calm,low", **_CONSENT},
            fields=VoiceForm,
            gives={"voice": "id"},
        ),
        Operation("GET", "/api/voices/{id}", "Look at a voice", parameters=_ID),
        Operation("GET", "/api/voices/{id}/preview", "Hear a voice", parameters=_ID),
        Operation(
            "PATCH",
            "/api/voices/{id}",
            "Change what is said of a voice",
            parameters=_ID,
            body={"description": "A calm voice", "tags": ["calm"]},
        ),
        Operation("DELETE", "/api/voices/{id}", "Delete a voice", parameters=_ID),
    ),
)
