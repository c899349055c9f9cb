"""Deepgram's Python SDK, as its documentation uses it."""

from __future__ import annotations

import asyncio
import io
import os
import wave

from cases import main
from deepgram import AsyncDeepgramClient, DeepgramClient
from deepgram.core.api_error import ApiError
from deepgram.core.events import EventType
from deepgram.environment import DeepgramClientEnvironment
from deepgram.helpers import TextBuilder
from deepgram.speak.v1.types import SpeakV1Text
from deepgram.speak.v2.types import (
    SpeakV2Configure,
    SpeakV2Interrupt,
    SpeakV2InterruptPlaybackOffset,
    SpeakV2Speak,
    SpeakV2SpeechInterrupted,
)
from websockets.exceptions import InvalidStatus

URL, KEY = os.environ["URL"], os.environ["KEY"]
SOCKETS = URL.replace("http", "ws", 1)
TEXT = "The doors open at nine. Please bring your ticket."
PLACE = DeepgramClientEnvironment(base=URL, production=SOCKETS, agent=SOCKETS, agent_rest=URL)
client = DeepgramClient(api_key=KEY, environment=PLACE)


def _clip(**options: object) -> bytes:
    return b"".join(client.speak.v1.audio.generate(text=TEXT, **options))


def case_generate() -> None:
    assert len(_clip()) > 5000
    assert len(_clip(model="aura-2-thalia-en", encoding="opus", container="ogg")) > 5000


def case_every_encoding() -> None:
    for encoding in ("linear16", "mulaw", "alaw", "mp3", "opus", "flac", "aac"):
        assert len(_clip(encoding=encoding)) > 3000, encoding


def case_a_wav_file() -> None:
    data = _clip(encoding="linear16", container="wav", sample_rate=16000)
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 1, 2)


def case_speed() -> None:
    usual, fast = (len(_clip(encoding="mulaw", container="none", speed=speed)) for speed in (1.0, 1.25))
    assert 1.1 < usual / fast < 1.4, (usual, fast)


def case_errors() -> None:
    for options, status in (({"model": "nobody"}, 404), ({"encoding": "mp3", "container": "wav"}, 400)):
        try:
            _clip(**options)
        except ApiError as error:
            assert error.status_code == status and error.body["err_code"], error
        else:
            raise AssertionError(options)
    stranger = DeepgramClient(api_key="a wrong key that is long", environment=PLACE)
    try:
        with stranger.speak.v1.connect(encoding="linear16"):
            pass
    except ApiError as error:  # with websockets before 14; later ones are not caught by this SDK
        assert error.status_code == 401, error
    except InvalidStatus as error:
        assert error.response.status_code == 401, error
    else:
        raise AssertionError("a stranger was let in")


def case_socket() -> None:
    options = {"model": "aura-2-thalia-en", "encoding": "linear16", "sample_rate": 24000}
    heard, kinds = b"", []
    with client.speak.v1.connect(**options) as socket:
        for word in TEXT.split():
            socket.send_text(SpeakV1Text(text=f"{word} "))
        socket.send_flush()
        for message in socket:
            if isinstance(message, bytes):
                heard += message
                continue
            kinds.append(message.type)
            if message.type == "Flushed":
                socket.send_close()
    assert kinds == ["Metadata", "Flushed"], kinds
    assert len(heard) > 2 * 24000, len(heard)


def case_socket_with_listeners() -> None:
    seen: list[str] = []
    with client.speak.v1.connect(encoding="mulaw", sample_rate=8000) as socket:
        socket.on(EventType.OPEN, lambda _: seen.append("open"))
        socket.on(EventType.MESSAGE, lambda message: seen.append(getattr(message, "type", "audio")))
        socket.on(EventType.CLOSE, lambda _: seen.append("close"))
        socket.on(EventType.ERROR, lambda error: seen.append(repr(error)))
        socket.send_text(SpeakV1Text(text=TEXT))
        socket.send_close()
        socket.start_listening()
    assert seen[:2] == ["open", "Metadata"] and set(seen[2:-1]) == {"audio"} and seen[-1] == "close", seen


def case_barge_in() -> None:
    with client.speak.v1.connect(encoding="linear16", sample_rate=24000) as socket:
        socket.send_text(SpeakV1Text(text=TEXT * 20))
        while not isinstance(socket.recv(), bytes):
            pass
        socket.send_clear()
        while isinstance(message := socket.recv(), bytes):
            pass
        assert message.type == "Cleared" and message.sequence_id == 0
        socket.send_text(SpeakV1Text(text="Yes?"))
        socket.send_flush()
        heard = 0
        while isinstance(message := socket.recv(), bytes):
            heard += len(message)
        assert message.type == "Flushed" and 0 < heard < 5 * 48000, heard
        socket.send_close()


def case_turns() -> None:
    options = {"model": "flux-alexis-en", "encoding": "linear16", "sample_rate": 24000, "tag": ["a", "b"]}
    heard, kinds = 0, []
    with client.speak.v2.connect(**options, speed=1.0, expressivity=1, mip_opt_out=True) as socket:
        for word in TEXT.split():
            socket.send_speak(SpeakV2Speak(type="Speak", text=f"{word} "))
        socket.send_flush()
        socket.send_configure(SpeakV2Configure(type="Configure", speed=1.25))
        socket.send_speak(SpeakV2Speak(type="Speak", text="The next turn."))
        socket.send_close()
        for message in socket:
            if isinstance(message, bytes):
                heard += len(message)
                continue
            kinds.append(message.type)
            if message.type == "SessionMetadata":
                assert message.total_audio_duration_ms == heard // 48
    turn = ["SpeechStarted", "Flushed", "SpeechMetadata"]
    assert [kind for kind in kinds if kind != "ConfigureSuccess"] == [
        "Connected",
        *turn,
        *turn,
        "SessionMetadata",
    ]
    assert "ConfigureSuccess" in kinds and heard > 2 * 48000, (kinds, heard)


def case_a_turn_is_interrupted() -> None:
    with client.speak.v2.connect(model="flux-alexis-en", sample_rate=24000) as socket:
        socket.send_speak(SpeakV2Speak(type="Speak", text=TEXT * 20))
        heard = 0
        while heard < 2 * 48000:
            message = socket.recv()
            heard += len(message) if isinstance(message, bytes) else 0
        offset = SpeakV2InterruptPlaybackOffset(type="time_ms", value=1500)
        socket.send_interrupt(SpeakV2Interrupt(type="Interrupt", playback_offset=offset))
        while isinstance(message := socket.recv(), bytes):
            pass
        assert isinstance(message, SpeakV2SpeechInterrupted), message
        assert message.text_spoken and message.text_spoken + message.text_remaining == TEXT * 20
        socket.send_close()


def case_a_clip_of_the_second_version() -> None:
    clip = b"".join(client.speak.v2.audio.generate(model="flux-alexis-en", text=TEXT, expressivity=1))
    assert len(clip) > 5000


def case_marks_of_its_text_builder() -> None:
    text = TextBuilder().text("The doors open at nine.").pause(1500).text("Bring your ticket.").build()
    word = TextBuilder().text("Take ").pronunciation("dupilumab", "duːˈpɪljuːmæb").text(" now.").build()
    raw = {"model": "flux-alexis-en", "encoding": "linear16", "container": "none", "sample_rate": 24000}
    lengths = [
        len(b"".join(client.speak.v2.audio.generate(text=each, **raw))) / 48000
        for each in (text, "The doors open at nine. Bring your ticket.", word, "Take dupilumab now.")
    ]
    assert 1.2 < lengths[0] - lengths[1] < 1.8 and abs(lengths[2] - lengths[3]) < 0.3, lengths


async def case_async_clip() -> None:
    there = AsyncDeepgramClient(api_key=KEY, environment=PLACE)
    pieces = [piece async for piece in there.speak.v1.audio.generate(text=TEXT, encoding="linear16")]
    assert sum(map(len, pieces)) > 48000
    await asyncio.sleep(0)


main(__name__)
