"""Which routes there are, and who may use them."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.routing import BaseRoute

PUBLIC = {
    ("GET", "/"),
    ("GET", "/admin"),
    ("GET", "/book"),
    ("GET", "/book/{id}"),
    ("GET", "/chat"),
    ("GET", "/train"),
    ("GET", "/docs"),
    ("GET", "/docs/{client}"),
    ("GET", "/api/adapters/consent"),
    ("GET", "/api/config"),
    ("GET", "/api/pages"),
    ("GET", "/api/voices"),
    ("GET", "/api/voices/consent"),
    ("GET", "/api/voices/{id}"),
    ("GET", "/api/voices/{id}/preview"),
    ("GET", "/health"),
    ("GET", "/live"),
    ("GET", "/ready"),
    ("GET", "/service-worker.js"),
    ("GET", "/sessions"),
    ("GET", "/sessions/{id}"),
    ("GET", "/v1/audio/models"),
    ("GET", "/v1/audio/voices"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/{id:path}"),
    ("GET", "/tts"),
    ("GET", "/tts/links/{token}"),
    ("GET", "/version"),
    ("MOUNT", "/static"),
    ("POST", "/openai/deployments/{deployment}/audio/speech"),
    ("POST", "/openai/v1/audio/speech"),
    ("POST", "/api/encode"),
    ("POST", "/tts"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/completions"),
    ("POST", "/tts/links"),
    ("GET", "/v1/voices"),
    ("GET", "/v1/voices/{voice_id}"),
    ("GET", "/v2/voices"),
    ("POST", "/v1/text-to-speech/{voice_id}"),
    ("POST", "/v1/text-to-speech/{voice_id}/stream"),
    ("POST", "/v1/text-to-speech/{voice_id}/stream/with-timestamps"),
    ("POST", "/v1/text-to-speech/{voice_id}/with-timestamps"),
    ("WEBSOCKET", "/v1/text-to-speech/{voice_id}/multi-stream-input"),
    ("WEBSOCKET", "/v1/text-to-speech/{voice_id}/stream-input"),
    ("POST", "/v1/text-to-dialogue"),
    ("POST", "/v1/text-to-dialogue/stream"),
    ("POST", "/v1/text-to-dialogue/stream/with-timestamps"),
    ("POST", "/v1/text-to-dialogue/with-timestamps"),
    ("WEBSOCKET", "/v1/text-to-dialogue/multi-stream-input"),
    ("WEBSOCKET", "/v1/text-to-dialogue/stream-input"),
    ("GET", "/voices"),
    ("GET", "/voices/{id}"),
    ("POST", "/tts/bytes"),
    ("POST", "/tts/sse"),
    ("WEBSOCKET", "/tts/websocket"),
    ("POST", "/v1/speak"),
    ("POST", "/vapi"),
    ("POST", "/jambonz"),
    ("WEBSOCKET", "/jambonz"),
    ("WEBSOCKET", "/v1/audio/speech/stream"),
    ("WEBSOCKET", "/v1/speak"),
    ("POST", "/v2/speak"),
    ("WEBSOCKET", "/v2/speak"),
    ("POST", "/v1/audio/speech"),
    ("POST", "/v1/audio/speech/batch"),
    ("POST", "/dev/captioned_speech"),
    ("POST", "/piper"),
    ("GET", "/piper/voices"),
    ("GET", "/xtts/speakers"),
    ("GET", "/xtts/speakers_list"),
    ("GET", "/xtts/tts_stream/"),
    ("POST", "/xtts/tts_to_audio/"),
    ("GET", "/process"),
    ("POST", "/process"),
    ("GET", "/marytts/process"),
    ("POST", "/marytts/process"),
    ("GET", "/marytts/voices"),
    ("GET", "/api/tts"),
    ("POST", "/api/tts"),
    ("WEBSOCKET", "/ws/live"),
    ("WEBSOCKET", "/ws/tts"),
}


ADMIN = {
    ("GET", "/api/events"),
    ("GET", "/api/fleet"),
    ("POST", "/api/fleet/orders"),
    ("PUT", "/api/fleet"),
    ("GET", "/api/history"),
    ("GET", "/api/log"),
    ("GET", "/api/queue"),
    ("GET", "/api/sessions/storage"),
    ("GET", "/api/settings/eta"),
    ("GET", "/api/workers"),
    ("POST", "/api/queue/cancel"),
    ("POST", "/api/workers/{id}/drain"),
    ("POST", "/api/workers/{id}/restart"),
    ("POST", "/api/workers/{id}/resume"),
    ("PUT", "/api/pages"),
    ("PUT", "/api/settings/eta"),
}


OWNED = {
    ("DELETE", "/api/queue/{ticket}"),
    ("GET", "/api/queue/{ticket}"),
    ("DELETE", "/api/adapters/{id}"),
    ("GET", "/api/adapters"),
    ("GET", "/api/adapters/{id}"),
    ("PATCH", "/api/adapters/{id}"),
    ("POST", "/api/adapters"),
    ("POST", "/api/documents"),
    ("DELETE", "/api/books/{id}"),
    ("DELETE", "/api/books/{id}/blocks/{block}/takes/{take}"),
    ("DELETE", "/api/books/{id}/make"),
    ("GET", "/api/books"),
    ("GET", "/api/books/{id}"),
    ("GET", "/api/books/{id}/blocks/{block}/takes/{take}/audio"),
    ("GET", "/api/books/{id}/blocks/{block}/takes/{take}/words.{form}"),
    ("GET", "/api/books/{id}/export"),
    ("PATCH", "/api/books/{id}"),
    ("POST", "/api/books"),
    ("POST", "/api/books/{id}/blocks/{block}/takes"),
    ("POST", "/api/books/{id}/make"),
    ("PUT", "/api/books/{id}/blocks"),
    ("PUT", "/api/books/{id}/blocks/{block}/take"),
    ("DELETE", "/api/jobs/{id}"),
    ("GET", "/api/jobs"),
    ("GET", "/api/jobs/{id}"),
    ("GET", "/api/jobs/{id}/result"),
    ("GET", "/api/jobs/{id}/words.{form}"),
    ("POST", "/api/jobs"),
    ("POST", "/api/jobs/{id}/cancel"),
    ("POST", "/api/jobs/{id}/resume"),
    ("DELETE", "/api/trainings/{id}"),
    ("DELETE", "/api/trainings/{id}/recordings/{recording}"),
    ("GET", "/api/trainings"),
    ("GET", "/api/trainings/{id}"),
    ("GET", "/api/trainings/{id}/samples/{sample}"),
    ("POST", "/api/trainings"),
    ("POST", "/api/trainings/{id}/cancel"),
    ("POST", "/api/trainings/{id}/recordings"),
    ("POST", "/api/trainings/{id}/start"),
    ("DELETE", "/api/lexicon"),
    ("DELETE", "/api/lexicon/words/{word:path}"),
    ("DELETE", "/api/sessions/{id}"),
    ("DELETE", "/api/sessions/{id}/share"),
    ("DELETE", "/api/voices/{id}"),
    ("GET", "/api/lexicon"),
    ("GET", "/api/sessions"),
    ("GET", "/api/sessions/{id}"),
    ("GET", "/api/sessions/{id}/audio"),
    ("GET", "/api/sessions/{id}/audio/{index}"),
    ("GET", "/api/sessions/{id}/download"),
    ("GET", "/api/sessions/{id}/words.{form}"),
    ("PATCH", "/api/sessions/{id}"),
    ("PATCH", "/api/voices/{id}"),
    ("PUT", "/api/lexicon"),
    ("PUT", "/api/lexicon/words/{word:path}"),
    ("POST", "/api/sessions/download"),
    ("POST", "/api/sessions/{id}/share"),
    ("POST", "/api/voices"),
    ("POST", "/api/voices/checks"),
    ("POST", "/api/voices/trial"),
    ("DELETE", "/v1/audio/voice_consents/{id}"),
    ("DELETE", "/v1/audio/voices/{id}"),
    ("GET", "/v1/audio/voice_consents"),
    ("GET", "/v1/audio/voice_consents/{id}"),
    ("POST", "/v1/audio/voice_consents"),
    ("POST", "/v1/audio/voice_consents/{id}"),
    ("POST", "/v1/audio/voices"),
}
"""Of what has an owner: test_owners.py tells owners apart, tickets and lexicons their own tests."""


WORKERS = {("POST", "/api/registrations")}


METRICS = {("GET", "/metrics")}


DESCRIPTION = {("GET", "/openapi.json")}
"""Who may see it: tests/gateway/description."""


def routes_of(routes: list[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Method and path of every route, those of included routers too."""
    for route in routes:
        if (included := getattr(route, "original_router", None)) is not None:
            yield from routes_of(included.routes)
        elif methods := getattr(route, "methods", None):
            yield from ((method, route.path) for method in methods - {"HEAD"})
        else:
            yield (
                "MOUNT" if hasattr(route, "app") and not hasattr(route, "endpoint") else "WEBSOCKET",
                route.path,
            )
