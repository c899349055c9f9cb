"""Voices that clients of a real gateway make of recordings, and speak with."""

from __future__ import annotations

from typing import Any

import httpx

from tests.gateway.audio.files import encoded, speech

ADMIN = "the token of the admin"
AUDIO = encoded("webm", speech(6.0))
CONSENT = {"consent_by": "Ann Example", "consent_statement": "I agree."}


def upload(http: httpx.Client, name: str = "Ann", audio: bytes = AUDIO, **fields: Any) -> httpx.Response:
    return http.post("/api/voices", files={"audio": ("a.webm", audio)}, data={"name": name, **fields})


def create(http: httpx.Client, name: str = "Ann", audio: bytes = AUDIO, **fields: Any) -> dict[str, Any]:
    response = upload(http, name, audio, **fields)
    assert response.status_code == 201, response.text
    return response.json()


def speak(http: httpx.Client, voice: str, text: str = "Hello there.", **fields: Any) -> httpx.Response:
    return http.post("/tts", json={"text": text, "voice": voice, "seed": 1, "format": "pcm", **fields})


def names(http: httpx.Client) -> list[str]:
    return [voice["name"] for voice in http.get("/api/voices").json()["voices"]]
