"""Cartesia's `/tts` and `/voices` of a real gateway, over HTTP and WebSocket, as its clients use them."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from gateway.errors import ApiError
from gateway.protocols.cartesia.context import Context
from gateway.protocols.cartesia.request import Generation
from gateway.service import Gateway
from gateway.settings import load_settings
from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess, Stream, all_free, fleet_for

KEY = "acme-0123456789abcdef"
HEADERS = {"Authorization": f"Bearer {KEY}", "Cartesia-Version": "2026-08-14"}
RAW = {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24000}
BODY = {
    "model_id": "sonic-3",
    "voice": {"mode": "id", "id": "f786b574-daa5-4673-aa0c-cbe3e8534c02"},
    "output_format": RAW,
}


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with fleet_for(KEY) as gateway:
        yield gateway


async def ask(fleet: GatewayProcess, path: str = "/tts/bytes", **fields: Any) -> httpx.Response:
    async with fleet.http(headers=HEADERS) as http:
        return await http.post(path, json={**BODY, "transcript": TEXT, **fields})


async def get(fleet: GatewayProcess, path: str, **query: Any) -> httpx.Response:
    async with fleet.http(headers=HEADERS) as http:
        return await http.get(path, params=query)


async def seconds_of_text(fleet: GatewayProcess, text: str = TEXT) -> float:
    return len((await ask(fleet, transcript=text)).content) / 2 / 24000


class Contexts(Stream):
    """One socket."""

    async def say(self, context_id: str, transcript: str, **fields: Any) -> None:
        message = {**BODY, "context_id": context_id, "transcript": transcript, **fields}
        await self.socket.send(json.dumps(message))

    async def until_done(self, context_id: str, kind: str = "done") -> list[dict[str, Any]]:
        """All messages of the context up to its end."""
        while (await self.receive_type(kind))["context_id"] != context_id:
            pass
        return [message for message in self.messages if message.get("context_id") == context_id]


@asynccontextmanager
async def contexts(fleet: GatewayProcess, query: str = "", **options: Any) -> AsyncIterator[Contexts]:
    options = {"additional_headers": HEADERS} | options
    url = f"ws://127.0.0.1:{fleet.port}/tts/websocket?{query}"
    async with connect(url, proxy=None, max_size=None, close_timeout=1, **options) as socket:
        yield Contexts(socket)


def audio_of(messages: list[dict[str, Any]]) -> bytes:
    return b"".join(base64.b64decode(each["data"]) for each in messages if each["type"] == "chunk")


@pytest.mark.parametrize(
    ("encoding", "sample_bytes"), [("pcm_s16le", 2), ("pcm_f32le", 4), ("pcm_mulaw", 1), ("pcm_alaw", 1)]
)
async def test_raw_samples_of_every_encoding(fleet: GatewayProcess, encoding: str, sample_bytes: int) -> None:
    answer = await ask(fleet, output_format={**RAW, "encoding": encoding, "sample_rate": 16000})
    assert answer.status_code == 200, answer.text
    seconds = len(answer.content) / sample_bytes / 16000
    assert seconds == pytest.approx(await seconds_of_text(fleet), abs=0.01)
    if encoding == "pcm_f32le":
        assert 0 < np.abs(np.frombuffer(answer.content, "<f4")).max() <= 1


@pytest.mark.parametrize(
    ("output", "subtype"),
    [
        ({"container": "wav", "encoding": "pcm_s16le"}, "PCM_16"),
        ({"container": "wav", "encoding": "pcm_f32le"}, "FLOAT"),
        ({"container": "wav", "encoding": "pcm_mulaw"}, "ULAW"),
        ({"container": "mp3", "bit_rate": 64000}, "MPEG_LAYER_III"),
    ],
)
async def test_a_file_is_of_the_format_that_was_asked_for(
    fleet: GatewayProcess, output: dict[str, Any], subtype: str
) -> None:
    answer = await ask(fleet, output_format={**output, "sample_rate": 44100})
    info = soundfile.info(io.BytesIO(answer.content))
    assert (info.samplerate, info.subtype) == (44100, subtype)


async def test_what_is_null_is_as_if_it_was_left_out(fleet: GatewayProcess) -> None:
    optional = ("model_id", "language", "locale", "generation_config", "speed", "context_id")
    nothing = dict.fromkeys([*optional, "add_timestamps", "continue", "flush", "max_buffer_delay_ms"])
    answer = await ask(fleet, **nothing)
    assert answer.status_code == 200 and len(answer.content) / 2 / 24000 == await seconds_of_text(fleet)


async def test_speed_by_a_number_or_by_a_word(fleet: GatewayProcess) -> None:
    usual = await seconds_of_text(fleet)
    for fields, speed in (
        ({"generation_config": {"speed": 1.5, "volume": 1.0}}, 1.5),
        ({"speed": "slow"}, 0.8),
    ):
        answer = await ask(fleet, **fields)
        assert usual / (len(answer.content) / 48000) == pytest.approx(speed, rel=0.05)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transcript": ""}, "empty_text"),
        ({"output_format": {**RAW, "sample_rate": 1}}, "invalid_value"),
        ({"output_format": {"container": "mp3", "sample_rate": 8001}}, "invalid_value"),
        ({"voice": "nobody"}, "unknown_voice"),
        ({"voice": {"mode": "embedding", "embedding": [1.0]}}, "invalid_value"),
    ],
)
async def test_errors_have_cartesia_s_shape(fleet: GatewayProcess, fields: dict[str, Any], code: str) -> None:
    answer = await ask(fleet, **fields)
    assert answer.status_code in (404, 422)
    assert set(answer.json()) == {"error_code", "title", "message", "status_code"}
    assert answer.json()["error_code"] == code and answer.json()["status_code"] == answer.status_code
    if "voice" in fields and code == "invalid_value":
        assert answer.json()["message"] == "voice: a voice is named by its id here, no embedding is taken"


async def test_events_bring_chunks_words_and_the_end(fleet: GatewayProcess) -> None:
    answer = await ask(fleet, "/tts/sse", add_timestamps=True, context_id="c1")
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    lines = answer.text.splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert all(event["context_id"] == "c1" for event in events)
    assert events[-1] == {"type": "done", "done": True, "status_code": 200, "context_id": "c1"}
    seconds = len(audio_of(events)) / 48000
    assert seconds == pytest.approx(await seconds_of_text(fleet), abs=0.01)
    check_words(events, TEXT, seconds)


def check_words(messages: list[dict[str, Any]], text: str, seconds: float) -> None:
    times = [each["word_timestamps"] for each in messages if each["type"] == "timestamps"]
    words = [word for each in times for word in each["words"]]
    starts = [start for each in times for start in each["start"]]
    ends = [end for each in times for end in each["end"]]
    assert words == text.split()
    assert starts == sorted(starts) and ends == sorted(ends) and ends[-1] <= seconds + 0.001
    assert all(start <= end for start, end in zip(starts, ends, strict=True))


async def test_events_are_raw_alone(fleet: GatewayProcess) -> None:
    answer = await ask(fleet, "/tts/sse", output_format={"container": "mp3", "sample_rate": 44100})
    assert answer.status_code == 422 and "raw" in answer.json()["message"]


async def test_a_context_speaks_while_its_transcript_comes(fleet: GatewayProcess) -> None:
    async with contexts(fleet) as socket:
        for word in TEXT.split():
            await socket.say("a", f"{word} ", **{"continue": True}, add_timestamps=True)
        await socket.say("a", "", **{"continue": False})
        messages = await socket.until_done("a")
        assert {each["type"] for each in messages} == {"chunk", "timestamps", "done"}
        chunk = messages[0]
        assert (chunk["done"], chunk["status_code"]) == (False, 206) and chunk["step_time"] >= 0
        seconds = len(audio_of(messages)) / 48000
        assert seconds == pytest.approx(await seconds_of_text(fleet), abs=0.2)
        check_words(messages, TEXT, seconds)
        await socket.say("a", "Again.")
        assert audio_of((await socket.until_done("a"))[len(messages) :]), "the socket stays open after done"


async def test_contexts_share_a_socket(fleet: GatewayProcess) -> None:
    async with contexts(fleet) as socket:
        await socket.say("a", TEXT)
        await socket.say("b", TEXT, output_format={**RAW, "encoding": "pcm_mulaw", "sample_rate": 8000})
        done = [(await socket.receive_type("done"))["context_id"] for _ in "ab"]
        assert sorted(done) == ["a", "b"]
        first, second = ([each for each in socket.messages if each["context_id"] == name] for name in "ab")
        assert len(audio_of(first)) / 48000 == pytest.approx(len(audio_of(second)) / 8000, abs=0.01)


async def test_a_flush_is_confirmed_behind_its_audio(fleet: GatewayProcess) -> None:
    async with contexts(fleet) as socket:
        for number in (1, 2):
            await socket.say("a", "No end here", **{"continue": True}, flush=True)
            messages = await socket.until_done("a", "flush_done")
            assert messages[-1]["flush_id"] == number and messages[-1]["flush_done"] is True
            assert messages[-2]["flush_id"] == number and messages[-2]["type"] == "chunk"
        await socket.say("a", " ", **{"continue": False})
        assert (await socket.until_done("a"))[-1]["type"] == "done"


async def test_without_a_delay_each_piece_is_spoken_at_once(fleet: GatewayProcess) -> None:
    async with contexts(fleet) as socket:
        await socket.say("a", "No end here", **{"continue": True}, max_buffer_delay_ms=0)
        assert (await socket.receive_type("chunk"))["context_id"] == "a"
        await socket.say("a", "", **{"continue": False})
        assert "flush_done" not in {each["type"] for each in await socket.until_done("a")}


async def test_after_its_cancel_nothing_is_said_of_a_context(fleet: GatewayProcess) -> None:
    async with contexts(fleet) as socket:
        await socket.say("a", LONG_TEXT)
        await socket.receive_type("chunk")
        await socket.socket.send(json.dumps({"context_id": "a", "cancel": True}))
        await socket.socket.send(json.dumps({"context_id": "never opened", "cancel": True}))
        await socket.say("b", TEXT)
        await socket.until_done("b")
        first_of_b = next(place for place, each in enumerate(socket.messages) if each["context_id"] == "b")
        assert "a" not in {each["context_id"] for each in socket.messages[first_of_b:]}
        assert "done" not in {each["type"] for each in socket.messages[:first_of_b]}
    await all_free(fleet)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("{", "invalid_json"),
        ("[]", "invalid_message"),
        (b"[]", "invalid_message"),
        (json.dumps({"context_id": "a", "continue": True}), "missing_field"),
        (json.dumps({**BODY, "context_id": "a", "transcript": "Hi.", "voice": "nobody"}), "unknown_voice"),
        (
            json.dumps(
                {
                    "context_id": "a",
                    "transcript": "Hi.",
                    "output_format": {"container": "wav", "sample_rate": 8000},
                }
            ),
            "invalid_value",
        ),
    ],
)
async def test_what_is_wrong_is_said_and_the_socket_goes_on(
    fleet: GatewayProcess, sent: str | bytes, code: str
) -> None:
    async with contexts(fleet) as socket:
        await socket.socket.send(sent)
        error = await socket.receive_type("error")
        assert error["error_code"] == code and error["done"] is True
        assert error["error"] == error["message"], "as LiveKit's plugin for Node.js wants it"
        assert {"title", "message", "status_code", "request_id"} <= set(error)
        assert error.get("context_id") == (None if sent in ("{", "[]", b"[]") else "a")
        await socket.say("b", "Hello.")
        await socket.until_done("b")


async def test_a_context_that_was_ended_takes_no_more(fleet: GatewayProcess) -> None:
    async with contexts(fleet) as socket:
        await socket.say("a", LONG_TEXT)
        await socket.say("a", "More.", **{"continue": True})
        assert (await socket.receive_type("error"))["error_code"] == "context_closed"


async def test_a_key_may_stand_in_the_address_of_a_socket_and_is_not_logged(fleet: GatewayProcess) -> None:
    for name in ("api_key", "access_token"):
        async with contexts(fleet, f"{name}={KEY}&cartesia_version=1", additional_headers={}) as socket:
            await socket.say("a", "Hello.")
            await socket.until_done("a")
    assert KEY not in "".join(fleet.log)
    with pytest.raises(InvalidStatus) as refusal:
        async with contexts(fleet, "api_key=wrong", additional_headers={}):
            pass
    assert refusal.value.response.status_code == 401
    assert json.loads(refusal.value.response.body)["error_code"] == "invalid_api_key"


async def test_voices_come_page_by_page_to_who_speaks_the_protocol(fleet: GatewayProcess) -> None:
    first = (await get(fleet, "/voices", limit=1)).json()
    assert first["data"][0]["id"] == "default" and not first["data"][0]["is_owner"]
    assert {"name", "description", "language", "locales", "created_at", "tagline"} <= set(first["data"][0])
    assert (await get(fleet, "/voices", starting_after="default")).json() == {"data": [], "has_more": False}
    assert (await get(fleet, "/voices", starting_after="unknown")).json()["data"] == []
    assert (await get(fleet, "/voices", q="no such voice")).json()["data"] == []
    assert (await get(fleet, "/voices/default")).json()["id"] == "default"
    assert (await get(fleet, "/voices/unknown")).json()["error_code"] == "voice_not_found"
    assert (await get(fleet, "/")).json()["ok"] is True
    async with fleet.http(headers={}) as http:
        assert (await http.get("/")).headers["Content-Type"].startswith("text/html")
        assert (await http.get("/voices")).status_code == 404


async def test_fields_that_mean_nothing_here_are_ignored_and_named(fleet: GatewayProcess) -> None:
    config = {"speed": 1.0, "emotion": "calm"}
    answer = await ask(fleet, generation_config=config, pronunciation_dict_id="p")
    assert answer.headers["X-Ignored-Fields"] == "generation_config.emotion, pronunciation_dict_id"


@pytest.mark.parametrize(("normalization", "normalize"), [("off", "off"), ("en-IN", "auto"), (None, "auto")])
async def test_figures_are_put_into_words_unless_the_client_does_not_want_that(
    tmp_path: Path, normalization: str | None, normalize: str
) -> None:
    gateway = Gateway(load_settings(worker_urls="http://127.0.0.1:9", data_dir=tmp_path))
    order = Generation(transcript="1,234", normalization=normalization)
    assert not order.ignored
    assert (await order.to_tts_request(gateway)).normalize == normalize
    assert (await order.to_start(gateway)).normalize == normalize


async def test_tags_in_a_transcript_are_not_read(fleet: GatewayProcess) -> None:
    plain = await seconds_of_text(fleet)
    assert await seconds_of_text(fleet, f'<emotion value="happy" /><speed ratio="1.2"/>{TEXT}') == plain
    assert await seconds_of_text(fleet, f"[laughter] {TEXT}") == plain
    assert await seconds_of_text(fleet, f"[sighs] {TEXT}") > plain
    paused = await seconds_of_text(fleet, f'{TEXT} <break time="1500ms"/> {TEXT}')
    assert paused == pytest.approx(2 * plain + 1.5, abs=0.1)
    async with contexts(fleet) as socket:
        for piece in ("<emotion val", 'ue="happy"/', f'> {TEXT} <break time="1s"/'):
            await socket.say("a", piece, **{"continue": True})
        await socket.say("a", ">", **{"continue": False})
        tagged = audio_of(await socket.until_done("a"))
        await socket.say("b", f"{TEXT} ", **{"continue": False})
        spoken = audio_of(await socket.until_done("b"))
    assert len(tagged) == len(spoken) + 48000 and tagged.endswith(bytes(48000))


@pytest.mark.parametrize("path", ["/tts/bytes", "/tts/sse"])
async def test_a_body_may_be_json_without_saying_so(fleet: GatewayProcess, path: str) -> None:
    """As LiveKit's plugin for Node.js sends it; without Cartesia's header nobody may."""
    body = json.dumps({**BODY, "transcript": TEXT})
    async with fleet.http(headers={"X-API-Key": KEY}) as http:
        said = await http.post(path, content=body, headers={"Cartesia-Version": "2025-04-16"})
        refused = await http.post(path, content=body)
    assert said.status_code == 200 and len(said.content) > 24000
    assert refused.status_code == 422 and "application/json" in refused.text


def test_flushes_are_counted_and_those_that_nobody_asked_for_are_not() -> None:
    """One kept each of them, as for every token of a context whose text waits."""
    flushes: list[bool] = []

    def flush(*, told: bool = True) -> None:
        flushes.append(told)
        if len(flushes) > 4:
            raise ApiError(422, "too_many_flushes", "")

    context = Context.__new__(Context)
    context._flushes = 0
    context.dialogue = SimpleNamespace(finishing=False, append=lambda text: None, flush=flush)
    spoken = {**BODY, "transcript": "a", "continue": True, "max_buffer_delay_ms": 0}
    for _ in range(3):
        context.take(Generation.model_validate(spoken))
    context.take(Generation.model_validate(spoken | {"flush": True}))
    with pytest.raises(ApiError):
        context.take(Generation.model_validate(spoken | {"flush": True}))
    assert (flushes, context._flushes) == ([False, False, False, True, True], 1)
