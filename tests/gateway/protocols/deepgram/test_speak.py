"""`/v1/speak` of a real gateway, over HTTP and WebSocket, as Deepgram's clients use it."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import soundfile
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.gateway.audio.samples import decoded_seconds
from tests.gateway.protocols.deepgram.links import HEADERS, KEY, Speech
from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess


async def ask(fleet: GatewayProcess, text: str = TEXT, **query: Any) -> httpx.Response:
    async with fleet.http(headers=HEADERS) as http:
        return await http.post("/v1/speak", params=query, json={"text": text})


@asynccontextmanager
async def speech(fleet: GatewayProcess, query: str = "", **options: Any) -> AsyncIterator[Speech]:
    options = {"additional_headers": HEADERS} | options
    url = f"ws://127.0.0.1:{fleet.port}/v1/speak?{query}"
    async with connect(url, proxy=None, close_timeout=1, **options) as socket:
        yield Speech(socket)


async def said(fleet: GatewayProcess) -> float:
    """Seconds of TEXT."""
    whole = await ask(fleet, encoding="linear16", container="none", sample_rate=24000)
    return len(whole.content) / 2 / 24000


async def test_without_a_word_about_it_a_clip_is_an_mp3_of_22050_hz(fleet: GatewayProcess) -> None:
    answer = await ask(fleet, model="aura-2-thalia-en")
    assert answer.headers["Content-Type"] == "audio/mpeg"
    assert answer.headers["dg-char-count"] == str(len(TEXT))
    assert answer.headers["dg-request-id"] == answer.headers["X-Request-Id"]
    assert soundfile.info(io.BytesIO(answer.content)).samplerate == 22050


@pytest.mark.parametrize(
    ("query", "format", "rate"),
    [
        ({"encoding": "linear16"}, "wav", 24000),
        ({"encoding": "linear16", "container": "none", "sample_rate": 16000}, "pcm", 16000),
        ({"encoding": "mulaw"}, "wav", 8000),
        ({"encoding": "alaw", "sample_rate": 16000}, "wav", 16000),
        ({"encoding": "opus", "container": "ogg"}, "opus", 48000),
        ({"encoding": "opus", "bit_rate": 256_000}, "opus", 48000),
        ({"encoding": "flac"}, "flac", 24000),
        ({"encoding": "aac", "bit_rate": 64000}, "aac", 22050),
        ({"encoding": "mp3", "bit_rate": 32000}, "mp3", 22050),
        ({"encoding": "mp3", "bit_rate": 320_000}, "mp3", 22050),
    ],
)
async def test_every_encoding_is_the_same_clip(
    fleet: GatewayProcess, query: dict[str, Any], format: str, rate: int
) -> None:
    answer = await ask(fleet, **query)
    assert answer.status_code == 200, answer.text
    seconds = decoded_seconds(answer.content, format, rate)
    assert seconds == pytest.approx(await said(fleet), abs=0.25)


@pytest.mark.parametrize("encoding", ["mulaw", "alaw"])
async def test_telephony_comes_raw_where_no_container_is_wanted(fleet: GatewayProcess, encoding: str) -> None:
    answer = await ask(fleet, encoding=encoding, container="none")
    assert len(answer.content) / 8000 == pytest.approx(await said(fleet), abs=0.01)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"encoding": "mp3", "container": "wav"}, "UNSUPPORTED_AUDIO_FORMAT"),
        ({"encoding": "speex"}, "INVALID_VALUE"),
        ({"encoding": "linear16", "sample_rate": 100}, "INVALID_VALUE"),
        ({"encoding": "opus", "bit_rate": 256_001}, "INVALID_VALUE"),
        ({"speed": 9}, "INVALID_VALUE"),
        ({"callback": "http://127.0.0.1/"}, "UNSUPPORTED"),
    ],
)
async def test_a_wrong_query_is_an_error_in_deepgram_s_shape(
    fleet: GatewayProcess, query: dict[str, Any], code: str
) -> None:
    answer = await ask(fleet, **query)
    assert answer.status_code == 400 and set(answer.json()) == {"err_code", "err_msg"}
    assert answer.json()["err_code"] == code
    assert list(query)[-1] in answer.json()["err_msg"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[]", "INVALID_BODY"),
        (b"{", "INVALID_JSON"),
        (b"{}", "MISSING_FIELD"),
        (b'{"text":5}', "INVALID_VALUE"),
    ],
)
async def test_a_wrong_body_is_a_bad_request_too(fleet: GatewayProcess, body: bytes, code: str) -> None:
    async with fleet.http(headers={**HEADERS, "Content-Type": "application/json"}) as http:
        answer = await http.post("/v1/speak", content=body)
    assert (answer.status_code, answer.json()["err_code"]) == (400, code)


async def plain(
    fleet: GatewayProcess, text: bytes, path: str = "/v1/speak", origin: str = ""
) -> httpx.Response:
    headers = HEADERS | {"Content-Type": "text/plain; charset=utf-8"} | ({"Origin": origin} if origin else {})
    async with fleet.http(headers=headers) as http:
        return await http.post(path, params={"encoding": "linear16"}, content=text)


async def test_a_text_may_come_without_anything_around_it(fleet: GatewayProcess) -> None:
    usual = await ask(fleet, encoding="linear16")
    for path in ("/v1/speak", "/v2/speak"):
        answer = await plain(fleet, TEXT.encode(), path)
        assert answer.status_code == 200, answer.text
        assert answer.headers["dg-char-count"] == usual.headers["dg-char-count"]
        assert len(answer.content) == pytest.approx(len(usual.content), abs=10_000)
    refused = [(await plain(fleet, text)).json()["err_code"] for text in (b"\xff", b" ", b"")]
    assert refused == ["INVALID_BODY", "EMPTY_TEXT", "EMPTY_TEXT"]


async def test_a_page_of_another_site_may_not_send_it(fleet: GatewayProcess) -> None:
    answer = await plain(fleet, TEXT.encode(), origin="https://evil.example")
    assert (answer.status_code, answer.json()["err_code"]) == (403, "CROSS_SITE")


async def test_a_wrong_key_has_that_shape_too_and_no_socket_opens(fleet: GatewayProcess) -> None:
    async with fleet.http(headers={"Authorization": "Token wrong"}) as http:
        answer = await http.post("/v1/speak", json={"text": TEXT})
    assert answer.status_code == 401 and answer.json()["err_code"] == "INVALID_API_KEY"
    with pytest.raises(InvalidStatus) as refusal:
        async with speech(fleet, additional_headers={}):
            pass
    assert refusal.value.response.status_code == 401
    with pytest.raises(InvalidStatus) as refusal:
        async with speech(fleet, "encoding=mp3"):
            pass
    assert refusal.value.response.status_code == 400
    assert b"linear16" in refusal.value.response.body


MARKED = rf'{TEXT} \{{pause:1500ms\}}Take \{{"word": "it", "pronounce": "ɪt"\}}.'
"""The text of a client of Flux, of which this is said:"""
SAID = f"{TEXT} Take it."


async def test_marks_within_a_text_are_not_read_and_pauses_are_silence(fleet: GatewayProcess) -> None:
    query = {"encoding": "linear16", "container": "none", "sample_rate": 24000}
    marked, plain = await ask(fleet, MARKED, **query), await ask(fleet, SAID, **query)
    assert len(marked.content) == pytest.approx(len(plain.content) + 72_000, abs=10_000)
    counts = ("dg-char-count", "dg-breaks-applied", "dg-pronunciations-applied")
    assert [marked.headers[name] for name in counts] == [str(len(SAID)), "1", "0"]
    async with speech(fleet) as socket:
        for at in range(0, len(MARKED), 5):
            await socket.say("Speak", text=MARKED[at : at + 5])
        await socket.say("Flush")
        await socket.receive_type("Flushed")
        assert len(socket.pcm) == pytest.approx(len(marked.content), abs=10_000)
        assert bytes(72_000) in socket.pcm


async def test_fields_that_mean_nothing_here_are_ignored_and_named(fleet: GatewayProcess) -> None:
    async with fleet.http(headers=HEADERS) as http:
        query = {"tag": "mine", "mip_opt_out": "true"}
        body = {"text": TEXT, "voice": "ruth", "tag": "mine", "größe": 1}
        answer = await http.post("/v1/speak", params=query, json=body)
    assert answer.headers["X-Ignored-Fields"] == "mip_opt_out, tag, voice, 1 more"


async def test_words_go_in_and_audio_comes_until_flushed(fleet: GatewayProcess) -> None:
    async with speech(fleet, "encoding=linear16&sample_rate=24000&model=aura-asteria-en") as socket:
        metadata = await socket.receive_type("Metadata")
        assert set(metadata) == {"type", "request_id", "model_name", "model_version", "model_uuid"}
        for word in TEXT.split():
            await socket.say("Speak", text=f"{word} ")
        await socket.say("Flush")
        assert (await socket.receive_type("Flushed"))["sequence_id"] == 0
        spoken = len(socket.pcm)
        assert spoken / 2 / 24000 == pytest.approx(await said(fleet), abs=0.2)
        await socket.say("Flush")
        assert (await socket.receive_type("Flushed"))["sequence_id"] == 1
        await socket.say("Speak", text="One more")
        await socket.say("Close")
        assert await socket.receive_rest() == 1000
        assert len(socket.pcm) > spoken, "what was said before Close is spoken"


async def test_text_for_which_there_is_no_room_waits_and_so_does_what_follows_it(
    fleet: GatewayProcess,
) -> None:
    alone = await ask(fleet, LONG_TEXT, encoding="linear16", container="none")
    async with speech(fleet) as socket:
        await socket.say("Speak", text=LONG_TEXT)
        await socket.say("Flush")
        await socket.say("Speak", text="One more")
        await socket.say("Close")
        await socket.receive_type("Flushed")
        assert len(socket.pcm) == pytest.approx(len(alone.content), rel=0.05)
        before = len(socket.pcm)
        assert await socket.receive_rest() == 1000 and len(socket.pcm) > before


async def test_a_sentence_longer_than_what_may_wait_is_spoken(fleet: GatewayProcess) -> None:
    async with speech(fleet) as socket:
        await socket.say("Speak", text=LONG_TEXT.replace(".", "") * 2)
        await socket.say("Flush")
        await socket.receive_type("Flushed")
    assert len(socket.pcm) / 2 / 24_000 > 40


async def test_clear_takes_what_waits_too(fleet: GatewayProcess) -> None:
    async with speech(fleet) as socket:
        await socket.say("Speak", text=LONG_TEXT * 3)
        await socket.say("Flush")
        await socket.receive_audio()
        await socket.say("Clear")
        await socket.receive_type("Cleared")
        before = len(socket.pcm)
        await socket.say("Speak", text="Next. One more")
        await socket.say("Flush")
        await socket.receive_type("Flushed")
        assert 0 < len(socket.pcm) - before < 2 * 24000 * 4


async def test_a_browser_shows_its_key_as_a_subprotocol(fleet: GatewayProcess) -> None:
    async with speech(fleet, additional_headers={}, subprotocols=["token", KEY]) as socket:
        assert socket.socket.subprotocol == "token"
        await socket.say("Close")
        assert await socket.receive_rest() == 1000


@pytest.mark.parametrize("encoding", ["mulaw", "alaw"])
async def test_telephony_over_a_socket_is_a_byte_a_sample(fleet: GatewayProcess, encoding: str) -> None:
    async with speech(fleet, f"encoding={encoding}") as socket:
        await socket.say("Speak", text=TEXT)
        await socket.say("Close")
        assert await socket.receive_rest() == 1000
        assert len(socket.pcm) / 8000 == pytest.approx(await said(fleet), abs=0.01)


async def test_after_clear_nothing_of_what_was_said_is_heard(fleet: GatewayProcess) -> None:
    async with speech(fleet) as socket:
        await socket.say("Speak", text=LONG_TEXT)
        await socket.say("Flush")
        await socket.receive_audio()
        await socket.say("Clear")
        assert (await socket.receive_type("Cleared"))["sequence_id"] == 0
        heard = len(socket.pcm)
        await socket.say("Speak", text="Next.")
        await socket.say("Flush")
        assert (await socket.receive_type("Flushed"))["sequence_id"] == 0, "the first was cleared"
        after = len(socket.pcm) - heard
        alone = await ask(fleet, "Next.", encoding="linear16", container="none")
        assert after / 2 == pytest.approx(len(alone.content) / 2, abs=0.2 * 24000)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("{", "INVALID_JSON"),
        ('{"type": "Sing"}', "INVALID_MESSAGE"),
        ('{"type": "Speak"}', "MISSING_FIELD"),
        ('{"type": "Speak", "text": "\\ud83d"}', "INVALID_VALUE"),
        ("[]", "INVALID_MESSAGE"),
        (json.dumps({"type": "Speak", "text": "x" * 100_001}), "TOO_MUCH_TEXT"),
    ],
)
async def test_a_wrong_message_is_warned_of_and_the_dialogue_goes_on(
    fleet: GatewayProcess, sent: str, code: str
) -> None:
    async with speech(fleet) as socket:
        await socket.socket.send(sent)
        warning = await socket.receive_type("Warning")
        assert warning["code"] == code and warning["description"]
        await socket.say("KeepAlive")
        await socket.say("Speak", text="Hello.")
        await socket.say("Flush")
        await socket.receive_type("Flushed")
        assert socket.pcm


async def test_what_ends_the_dialogue_is_said_before_the_close(fleet: GatewayProcess) -> None:
    async with speech(fleet, "model=nobody") as socket:
        await socket.say("Speak", text="Hello.")
        assert (await socket.receive_type("Error"))["code"] == "UNKNOWN_VOICE"
        with pytest.raises(ConnectionClosed):
            async with asyncio.timeout(60):
                await socket.socket.recv()
        assert socket.socket.close_code == 1008


async def test_text_without_words_is_a_moment_of_silence(fleet: GatewayProcess) -> None:
    async with speech(fleet, "sample_rate=16000") as socket:
        await socket.say("Speak", text="…")
        await socket.say("Flush")
        await socket.receive_type("Flushed")
        assert socket.pcm == bytes(2 * 1600)
        await socket.say("Close")
        assert await socket.receive_rest() == 1000 and socket.pcm == bytes(2 * 1600)


async def test_what_was_cleared_is_not_made_up_for_with_silence(fleet: GatewayProcess) -> None:
    async with speech(fleet) as socket:
        await socket.say("Speak", text="Hello")
        await socket.say("Clear")
        await socket.say("Flush")
        await socket.receive_type("Flushed")
        await socket.say("Close")
        assert await socket.receive_rest() == 1000 and not socket.pcm
