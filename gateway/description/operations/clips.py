"""Speech: clips, links to them, streams and live sessions."""

from __future__ import annotations

from gateway.description.media import AUDIO, FILES, JSON, LINES
from gateway.description.operation import Given, Operation, Tag
from gateway.requests import ClipRequest

_TEXT = "Doors open at nine."

TAG = Tag(
    "Speech",
    "A text as speech: as one file, while it is made, by a link, or live.",
    (
        Operation(
            "POST",
            "/tts",
            "Speak a text",
            body={"text": _TEXT, "voice": "default", "format": "wav", "seed": 7, "record": True},
            media=(*AUDIO, JSON, LINES),
            gives={"session": "X-Session-Id"},
        ),
        Operation(
            "GET",
            "/tts",
            "Play a text from an address",
            parameters={"text": _TEXT, "voice": "default", "format": "mp3"},
            fields=ClipRequest,
            media=AUDIO,
        ),
        Operation(
            "POST",
            "/tts/links",
            "Make a link to a clip",
            body={"text": _TEXT, "voice": "default", "format": "mp3", "expires_in": 300},
            gives={"link": "url"},
        ),
        Operation(
            "GET",
            "/tts/links/{token}",
            "Open a link",
            access="public",
            parameters={"token": Given("link")},
            media=AUDIO,
        ),
        Operation(
            "POST",
            "/api/encode",
            "Convert a clip to another format",
            parameters={"format": "mp3"},
            upload="audio/wav",
            media=FILES,
        ),
        Operation(
            "WEBSOCKET",
            "/ws/tts",
            "Stream a clip",
            messages=({"text": _TEXT, "voice": "default", "seed": 7},),
        ),
        Operation(
            "WEBSOCKET",
            "/ws/live",
            "Speak while the text is written",
            messages=(
                {"type": "start", "voice": "default", "seed": 7},
                {"type": "append", "text": "Doors open at "},
                {"type": "append", "text": "nine."},
                {"type": "flush"},
                {"type": "stop"},
            ),
        ),
    ),
)
