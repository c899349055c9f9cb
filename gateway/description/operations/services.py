"""What clients of ElevenLabs, Cartesia and Deepgram call, and agents on the telephone."""

from __future__ import annotations

from gateway.description import media
from gateway.description.operation import Operation, Tag
from gateway.protocols.cartesia.errors import VERSION_HEADER
from gateway.protocols.deepgram.request import SpeakQuery
from gateway.protocols.selfhosted import coqui, marytts
from gateway.protocols.selfhosted.coqui import CoquiClip
from gateway.protocols.selfhosted.marytts import MaryClip
from gateway.protocols.selfhosted.xtts import XttsClip
from gateway.protocols.telephony.jambonz_stream import StreamQuery

_WAV = ("audio/wav",)
_TEXT = "Doors open at nine."
_VOICE = {"voice_id": "default"}
_FORMAT = {"output_format": "mp3_44100_128"}
_MP3 = {**_VOICE, **_FORMAT}
_LINES = {"inputs": [{"text": _TEXT, "voice_id": "default"}]}
_ELEVENLABS_BODY = {"text": _TEXT, "voice_settings": {"speed": 1.0}}
_CARTESIA = {VERSION_HEADER: "2025-04-16"}
_CARTESIA_BODY = {
    "model_id": "sonic-3",
    "transcript": _TEXT,
    "voice": {"mode": "id", "id": "default"},
    "output_format": {"container": "wav", "encoding": "pcm_s16le", "sample_rate": 24000},
}
_RAW = {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24000}

ELEVENLABS = Tag(
    "ElevenLabs",
    "For clients of ElevenLabs' API: the base URL is this address.",
    (
        Operation(
            "POST",
            "/v1/text-to-speech/{voice_id}",
            "Speak a text",
            parameters=_MP3,
            body=_ELEVENLABS_BODY,
            media=media.ELEVENLABS,
        ),
        Operation(
            "POST",
            "/v1/text-to-speech/{voice_id}/stream",
            "Speak a text, as a stream",
            parameters=_MP3,
            body=_ELEVENLABS_BODY,
            media=media.ELEVENLABS,
        ),
        Operation(
            "POST",
            "/v1/text-to-speech/{voice_id}/with-timestamps",
            "Speak a text, with times of characters",
            parameters=_MP3,
            body=_ELEVENLABS_BODY,
        ),
        Operation(
            "POST",
            "/v1/text-to-speech/{voice_id}/stream/with-timestamps",
            "The same as a stream of JSON lines",
            parameters=_MP3,
            body=_ELEVENLABS_BODY,
        ),
        Operation(
            "WEBSOCKET",
            "/v1/text-to-speech/{voice_id}/stream-input",
            "Text in pieces over a socket",
            parameters={**_VOICE, "output_format": "pcm_24000"},
            messages=({"text": " "}, {"text": "Doors open at nine. "}, {"text": ""}),
        ),
        Operation(
            "WEBSOCKET",
            "/v1/text-to-speech/{voice_id}/multi-stream-input",
            "Several contexts over one socket",
            parameters={**_VOICE, "output_format": "pcm_24000"},
            messages=(
                {"text": "Doors open at nine. ", "context_id": "a", "flush": True},
                {"context_id": "a", "close_context": True},
                {"close_socket": True},
            ),
        ),
        Operation(
            "POST",
            "/v1/text-to-dialogue",
            "Speak what several voices say",
            parameters=_FORMAT,
            body=_LINES,
            media=media.ELEVENLABS,
        ),
        Operation(
            "POST",
            "/v1/text-to-dialogue/stream",
            "Speak what several voices say, as a stream",
            parameters=_FORMAT,
            body=_LINES,
            media=media.ELEVENLABS,
        ),
        Operation(
            "POST",
            "/v1/text-to-dialogue/with-timestamps",
            "Speak what several voices say, with times of characters",
            parameters=_FORMAT,
            body=_LINES,
        ),
        Operation(
            "POST",
            "/v1/text-to-dialogue/stream/with-timestamps",
            "The same as a stream of JSON lines",
            parameters=_FORMAT,
            body=_LINES,
        ),
        Operation(
            "WEBSOCKET",
            "/v1/text-to-dialogue/stream-input",
            "What voices say in pieces over a socket",
            parameters={"output_format": "pcm_24000", "sync_alignment": "true"},
            messages=(_LINES, {"close_socket": True}),
        ),
        Operation(
            "WEBSOCKET",
            "/v1/text-to-dialogue/multi-stream-input",
            "Several contexts over one socket",
            parameters={"output_format": "pcm_24000", "sync_alignment": "true"},
            messages=({**_LINES, "context_id": "a", "close_context": True}, {"close_socket": True}),
        ),
        Operation("GET", "/v1/voices", "List voices", access="public"),
        Operation(
            "GET", "/v2/voices", "Search voices", access="public", parameters={"search": "", "page_size": 10}
        ),
        Operation("GET", "/v1/voices/{voice_id}", "Look at a voice", access="public", parameters=_VOICE),
    ),
)

CARTESIA = Tag(
    "Cartesia",
    f"For clients of Cartesia's API, which send the header `{VERSION_HEADER}`: the base URL is this address.",
    (
        Operation(
            "POST",
            "/tts/bytes",
            "Speak a text",
            headers=_CARTESIA,
            body=_CARTESIA_BODY,
            media=media.CARTESIA,
        ),
        Operation(
            "POST",
            "/tts/sse",
            "Speak a text, as events",
            headers=_CARTESIA,
            body={**_CARTESIA_BODY, "output_format": _RAW, "add_timestamps": True},
        ),
        Operation(
            "WEBSOCKET",
            "/tts/websocket",
            "Several contexts over one socket",
            headers=_CARTESIA,
            messages=({**_CARTESIA_BODY, "output_format": _RAW, "context_id": "a", "continue": False},),
            last="done",
        ),
        Operation("GET", "/voices", "List voices", access="public", headers=_CARTESIA),
        Operation(
            "GET",
            "/voices/{id}",
            "Look at a voice",
            access="public",
            headers=_CARTESIA,
            parameters={"id": "default"},
        ),
        Operation("GET", "/", "Whether the service is there", access="public", headers=_CARTESIA),
    ),
)


def _speak(path: str, clip: str, socket: str) -> tuple[Operation, Operation]:
    """Both ways in which a version of Deepgram's `speak` is asked, with what each is for."""
    return (
        Operation(
            "POST",
            path,
            clip,
            parameters={"model": "default", "encoding": "mp3"},
            fields=SpeakQuery,
            body={"text": _TEXT},
            media=media.DEEPGRAM,
        ),
        Operation(
            "WEBSOCKET",
            path,
            socket,
            parameters={"model": "default", "encoding": "linear16"},
            fields=SpeakQuery,
            messages=({"type": "Speak", "text": _TEXT}, {"type": "Flush"}, {"type": "Close"}),
        ),
    )


DEEPGRAM = Tag(
    "Deepgram",
    "For clients of Deepgram's API: the base URL is this address.",
    (
        *_speak("/v1/speak", "Speak a text", "Text in pieces over a socket"),
        *_speak("/v2/speak", "Speak a text, for clients of Flux", "Text in pieces over a socket, in turns"),
    ),
)

FISH = Tag(
    "Fish Audio",
    "For clients of Fish Audio's API, and of fish-speech's server: the base URL is this address.",
    (
        Operation(
            "POST",
            "/v1/tts",
            "Speak a text, for clients of Fish Audio",
            body={"text": _TEXT, "reference_id": "default", "format": "mp3"},
            media=media.FISH,
        ),
        Operation(
            "WEBSOCKET",
            "/v1/tts/live",
            "Text in pieces over a socket, in MessagePack",
            messages=(
                {"event": "start", "request": {"text": "", "reference_id": "default", "format": "mp3"}},
                {"event": "text", "text": _TEXT},
                {"event": "stop"},
            ),
            packed=True,
            last="event reason",
        ),
    ),
)

SELF_HOSTED = Tag(
    "Other servers",
    "For clients of Kokoro-FastAPI, whose other routes are OpenAI's, of Piper, xtts-api-server, MaryTTS "
    "and Coqui's server.",
    (
        Operation(
            "POST",
            "/dev/captioned_speech",
            "Speak a text, and tell when each word is said",
            body={"input": _TEXT, "voice": "default", "response_format": "mp3", "stream": False},
            media=(media.JSON,),
        ),
        Operation(
            "POST",
            "/piper",
            "Speak a text, for clients of Piper",
            body={"text": _TEXT, "voice": "default", "length_scale": 1.0},
            media=_WAV,
        ),
        Operation("GET", "/piper/voices", "List voices", access="public"),
        Operation(
            "POST",
            "/xtts/tts_to_audio/",
            "Speak a text, for clients of xtts-api-server",
            body={"text": _TEXT, "speaker_wav": "default", "language": "en"},
            media=_WAV,
        ),
        Operation(
            "GET",
            "/xtts/tts_stream/",
            "Speak a text, for players of xtts-api-server's clients",
            parameters={"text": _TEXT, "speaker_wav": "default", "language": "en"},
            fields=XttsClip,
            media=_WAV,
        ),
        Operation("GET", "/xtts/speakers", "List voices", access="public"),
        Operation("GET", "/xtts/speakers_list", "List the ids of voices", access="public"),
        *(
            Operation(
                method,
                path,
                "Speak a text, for clients of MaryTTS",
                parameters={"INPUT_TEXT": _TEXT, "VOICE": "default", "LOCALE": "en_US"},
                fields=MaryClip,
                media=_WAV,
            )
            for path in marytts.PATHS
            for method in ("GET", "POST")
        ),
        Operation("GET", "/marytts/voices", "List voices", access="public", media=("text/plain",)),
        *(
            Operation(
                method,
                coqui.PATH,
                "Speak a text, for clients of Coqui's server",
                parameters={"text": _TEXT, "speaker_id": "default"},
                fields=CoquiClip,
                media=_WAV,
            )
            for method in ("GET", "POST")
        ),
    ),
)

TELEPHONY = Tag(
    "Telephone agents",
    "For agents of Vapi and jambonz, which are given one of these addresses.",
    (
        Operation(
            "POST",
            "/vapi",
            "Speak a text, for a custom voice of Vapi",
            parameters={"voice": "default"},
            body={"message": {"type": "voice-request", "text": _TEXT, "sampleRate": 24000}},
        ),
        Operation(
            "POST",
            "/jambonz",
            "Speak a text, for a custom speech vendor of jambonz",
            parameters={"voice": "default"},
            body={"language": "en-US", "voice": "default", "type": "text", "text": _TEXT},
        ),
        Operation(
            "WEBSOCKET",
            "/jambonz",
            "Text in pieces over a socket, for a custom speech vendor of jambonz",
            parameters={"voice": "default", "language": "en-US", "sampleRate": 8000},
            fields=StreamQuery,
            messages=({"type": "stream", "text": _TEXT}, {"type": "flush"}),
            last="binary",
        ),
    ),
)
