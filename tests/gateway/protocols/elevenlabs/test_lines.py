"""`/v1/text-to-dialogue`, over HTTP and over sockets, as ElevenLabs' SDK and LiveKit's plugin ask for it."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from gateway.errors import ApiError
from gateway.protocols.clip import Collector
from gateway.protocols.elevenlabs import lines
from gateway.requests import TtsRequest
from gateway.settings import GatewaySettings
from gateway.synthesis import patience
from tests.gateway.audio.samples import decoded_seconds
from tests.gateway.protocols.elevenlabs.told import Told
from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess, pcm_of, started_fleets

PATH = "/v1/text-to-dialogue"
THEIRS = "JBFqnCBsd6RMkjVDRZzb"
LINES = [{"text": TEXT, "voice_id": "default"}, {"text": "Very well!", "voice_id": THEIRS}]
PCM = pcm_of(TEXT, 5) + pcm_of("Very well!", 5)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        aliases = json.dumps({"ruth": "default"})
        settings = {"data_dir": tmp_path_factory.mktemp("data"), "voice_aliases": aliases}
        settings["max_text_characters"] = 1000
        gateway, _ = start(1, slots=4, step_ms=2, gateway=settings)
        yield gateway
        assert not gateway.defects()


async def ask(
    fleet: GatewayProcess, way: str = "", lines: list[dict[str, Any]] = LINES, format: str = "pcm_24000"
) -> httpx.Response:
    body = {"inputs": lines, "model_id": "eleven_v4", "settings": {"stability": 0.5}, "seed": 5}
    query = {"output_format": format, "enable_logging": "true"}
    async with fleet.http(headers={"xi-api-key": "any"}) as http:
        return await http.post(PATH + way, params=query, json=body)


@pytest.mark.parametrize("way", ["", "/stream"])
async def test_lines_are_one_clip_with_no_sample_between_them(fleet: GatewayProcess, way: str) -> None:
    spoken = await ask(fleet, way)
    assert spoken.content == PCM
    assert spoken.headers["request-id"] and spoken.headers["X-Ignored-Fields"] == "settings"


async def test_a_compressed_file_is_one_too(fleet: GatewayProcess) -> None:
    spoken = await ask(fleet, format="mp3_44100_128")
    assert spoken.headers["Content-Type"] == "audio/mpeg" and spoken.content.count(b"ID3") == 1
    assert decoded_seconds(spoken.content, "mp3", 44100) == pytest.approx(len(PCM) / 48000, abs=0.2)


async def test_times_run_through_and_tell_who_speaks(fleet: GatewayProcess) -> None:
    whole = (await ask(fleet, "/with-timestamps")).json()
    pieces = [json.loads(line) for line in (await ask(fleet, "/stream/with-timestamps")).text.splitlines()]
    assert base64.b64decode(whole["audio_base64"]) == PCM
    assert b"".join(base64.b64decode(piece["audio_base64"]) for piece in pieces) == PCM
    alignment, first_seconds = whole["alignment"], len(pcm_of(TEXT, 5)) / 48000
    assert "".join(alignment["characters"]) == TEXT + "Very well!"
    starts = alignment["character_start_times_seconds"]
    assert starts == sorted(starts) and starts[len(TEXT)] == pytest.approx(first_seconds, abs=0.001)
    told = [(segment["dialogue_input_index"], segment["voice_id"]) for segment in whole["voice_segments"]]
    assert told == [(0, "default"), (1, THEIRS)]
    second = whole["voice_segments"][1]
    assert (second["character_start_index"], second["character_end_index"]) == (len(TEXT), len(starts))
    assert second["end_time_seconds"] == pytest.approx(len(PCM) / 48000, abs=0.001)
    timed = [piece for piece in pieces if piece["voice_segments"]]
    assert [piece["voice_segments"][0]["dialogue_input_index"] for piece in timed] == [0, 1]
    told = [at for piece in timed for at in piece["alignment"]["character_start_times_seconds"]]
    assert told == starts


@pytest.mark.parametrize(
    ("lines", "status", "code"),
    [
        ([], 422, "invalid_value"),
        ([{"text": "Hello."}], 422, "missing_field"),
        (LINES[:1] * 101, 422, "invalid_value"),
        ([*LINES, {"text": "Hello.", "voice_id": "nobody"}], 404, "unknown_voice"),
        ([{"text": "Well. " * 100, "voice_id": "default"}] * 2, 422, "text_too_long"),
        ([{"text": "Well. " * 200, "voice_id": "nobody"}], 422, "text_too_long"),
    ],
)
async def test_what_is_wrong_with_any_line_is_told_before_the_first(
    fleet: GatewayProcess, lines: list[dict[str, Any]], status: int, code: str
) -> None:
    refused = await ask(fleet, lines=lines)
    detail = refused.json()["detail"]
    assert (refused.status_code, detail["code"] if status == 404 else detail[0]["type"]) == (status, code)


class Client(Told):
    """What is final, and the audio of a context."""

    async def hear_final(self) -> dict[str, Any]:
        while not (said := await self.hear()).get("is_final"):
            pass
        return said

    def audio(self, context: str | None = None) -> bytes:
        of_context = [said for said in self.said if said.get("context_id") == context]
        return b"".join(base64.b64decode(said["audio"]) for said in of_context if "audio" in said)


@asynccontextmanager
async def opened(fleet: GatewayProcess, way: str, timed: str = "true") -> AsyncIterator[Client]:
    query = "model_id=eleven_v4&output_format=pcm_24000&enable_logging=true&apply_text_normalization=auto"
    url = f"ws://127.0.0.1:{fleet.port}{PATH}/{way}?{query}&sync_alignment={timed}&seed=5"
    async with connect(url, additional_headers={"xi-api-key": "any"}, proxy=None) as socket:
        yield Client(socket)


async def test_cues_are_not_read(fleet: GatewayProcess) -> None:
    lines = [{**line, "text": f"[laughs] {line['text']}"} for line in LINES]
    assert (await ask(fleet, lines=lines)).content == PCM
    async with opened(fleet, "stream-input") as client:
        for text in ("[lau", f"ghs] {TEXT}"):
            await client.say(inputs=[{"text": text, "voice_id": "default"}])
        await client.say(close_socket=True)
        await client.hear_rest()
    assert len(client.audio()) == len(pcm_of(TEXT, 5))


async def test_contexts_as_livekit_s_plugin_has_them(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        for id in ("a", "b"):
            await client.say(context_id=id, voices=[THEIRS], voice_settings={"stability": 0.5})
            for word in TEXT.split():
                await client.say(context_id=id, inputs=[{"text": f"{word} ", "voice_id": THEIRS}])
            await client.say(context_id=id, keep_alive=True)
            await client.say(context_id=id, close_context=True)
            assert await client.hear_final() == {"is_final": True, "context_id": id}
            assert len(client.audio(id)) == len(pcm_of(f"{TEXT} ", 5))
        await client.say(context_id="c", voices=[THEIRS])
        await client.say(context_id="c", close_context=True)
        assert await client.hear_final() == {"is_final": True, "context_id": "c"}


async def test_times_count_from_the_place_of_their_message(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        await client.say(context_id="a", inputs=[{"text": LONG_TEXT, "voice_id": "default"}], flush=True)
        await client.say(context_id="a", close_context=True)
        await client.hear_final()
    heard, starts, ends, characters = 0, [], [], ""
    told, added_up = 0, []
    for said in client.said:
        if times := said.get("alignment") or said.get("normalized_alignment"):  # as pipecat reads them
            added_up += [told + start for start in times["char_start_times_ms"] if times["chars"] != [""]]
            told += times["char_start_times_ms"][-1] + times["char_durations_ms"][-1]
        if alignment := said.get("alignment"):
            assert said.keys() == {"audio", "alignment", "alignment_source", "context_id"}
            characters += "".join(alignment["chars"])
            starts += [round(heard / 48) + start for start in alignment["char_start_times_ms"]]
            ends.append(starts[-1] + alignment["char_durations_ms"][-1])
        heard += len(base64.b64decode(said.get("audio", "")))
    assert characters == LONG_TEXT and len(ends) > 1
    assert starts == sorted(starts) and starts[0] == 0 and ends[-1] == pytest.approx(heard / 48, abs=2)
    assert added_up == pytest.approx(starts, abs=10) and told == pytest.approx(heard / 48, abs=10)


async def test_the_end_of_a_turn_is_told_behind_its_audio(fleet: GatewayProcess) -> None:
    async with opened(fleet, "stream-input", timed="false") as client:
        await client.say(voices=["default"], xi_api_key="any")
        for new_turn in (True, False):
            await client.say(inputs=[{"text": TEXT, "voice_id": "default", "new_turn": new_turn}])
            await client.say(flush=True)
            while not (said := await client.hear()).get("is_final_audio_for_turn"):
                assert said.keys() == {"audio"}
            assert said == {"is_final_audio_for_turn": True}
            assert len(client.audio()) > len(pcm_of(TEXT, 5)) * 0.9
        assert len(client.audio()) > 1.8 * len(pcm_of(TEXT, 5))
        await client.say(close_socket=True)
        assert await client.hear_rest() == 1000
    assert client.said[-1] == {"is_final": True}


async def test_a_turn_ends_behind_the_silence_in_it_and_not_behind_the_next(fleet: GatewayProcess) -> None:
    pause = {"text": '<break time="2s"/>', "voice_id": "default"}
    async with opened(fleet, "stream-input", timed="false") as client:
        for inputs in ([{"text": TEXT, "voice_id": "default"}, pause], [{**pause, "new_turn": True}]):
            await client.say(inputs=inputs)
        while not (await client.hear()).get("is_final_audio_for_turn"):
            pass
        assert len(client.audio()) == len(pcm_of(f"{TEXT} ", 5)) + 2 * 48_000
        await client.say(flush=True)
        while not (await client.hear()).get("is_final_audio_for_turn"):
            pass
    assert client.audio().endswith(bytes(4 * 48_000))


async def test_one_stretch_of_speech_ends_when_the_socket_is_to_be_closed(fleet: GatewayProcess) -> None:
    async with opened(fleet, "stream-input") as client:
        await client.say(voices=["default"], xi_api_key="any")
        await client.say(inputs=[{"text": LONG_TEXT, "voice_id": "default"}])
        await client.say(keep_alive=True)
        await client.say(inputs=[{"text": "And again", "voice_id": "default", "new_turn": True}])
        await client.say(close_socket=True)
        assert await client.hear_rest() == 1000
    assert client.said[-1] == {"is_final": True}
    assert len(client.audio()) > len(pcm_of(LONG_TEXT, 5))


async def test_voices_of_a_context_speak_one_after_the_other(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        await client.say(context_id="a", voices=["default", "ruth"])
        for text, voice in ((TEXT, "default"), ("Very ", "ruth"), ("well! ", "ruth"), ("Good.", "default")):
            await client.say(context_id="a", inputs=[{"text": text, "voice_id": voice}])
        await client.say(context_id="a", close_context=True)
        await client.hear_final()
    heard, starts, characters = 0, [], ""
    for said in client.said:
        if alignment := said.get("alignment"):
            characters += "".join(alignment["chars"])
            starts += [round(heard / 48) + start for start in alignment["char_start_times_ms"]]
        heard += len(base64.b64decode(said.get("audio", "")))
    assert characters == f"{TEXT}Very well! Good."
    assert starts == sorted(starts) and starts[-1] <= heard / 48
    assert starts[len(TEXT)] == len(pcm_of(TEXT, 5)) // 48, "where the second voice begins"


async def test_a_message_has_so_many_lines_at_most(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        await client.say(context_id="a", inputs=LINES[:1] * 101)
        assert await client.hear_rest() == 1008
    assert (client.said[-1]["error"], client.said[-1]["param"]) == ("invalid_value", "inputs")


async def test_a_voice_that_nobody_has_ends_a_context_when_its_turn_comes(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        await client.say(context_id="a", inputs=[*LINES, {"text": "Hm.", "voice_id": "nobody"}])
        await client.say(context_id="a", close_context=True)
        while not (said := await client.hear()).get("error"):
            pass
        assert (said["error"], said["context_id"]) == ("unknown_voice", "a")
        await client.say(context_id="b", inputs=LINES)
        await client.say(context_id="b", close_context=True)
        await client.hear_final()
        assert client.audio("a") and client.audio("b")


async def test_a_context_that_is_left_says_nothing_of_the_voices_that_wait(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        lines = [{"text": LONG_TEXT, "voice_id": "default"}, {"text": TEXT, "voice_id": "ruth"}]
        await client.say(context_id="a", inputs=lines)
        for _ in range(2):
            await client.say(context_id="a", close_context=True)
        await client.hear_final()
        await client.say(context_id="b", inputs=LINES[:1])
        await client.say(context_id="b", close_context=True)
        await client.hear_final()
        assert [said for said in client.said if said.get("error")] == []


class Refused:
    """A synthesis of which some first tries find no room."""

    tries: list[str]
    full: set[str]

    def __init__(self, order: TtsRequest, collector: Collector) -> None:
        self._text, self._collector = order.text, collector

    async def run(self) -> None:
        self.tries.append(self._text)
        if self._text in self.full and self.tries.count(self._text) == 1:
            raise ApiError(429, "queue_full", "the queue is full")
        self._collector.audio(bytes(200))


@pytest.mark.parametrize(("full", "tries"), [("Two.", ["One.", "Two.", "Two."]), ("One.", ["One."])])
async def test_only_the_first_line_is_refused_where_there_is_no_room(
    full: str, tries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(Refused, "tries", [], raising=False)
    monkeypatch.setattr(Refused, "full", {full}, raising=False)
    monkeypatch.setattr(lines, "begin_clip", lambda a, b, order, to, *c, **d: (Refused(order, to), {}))
    monkeypatch.setattr(lines, "while_connected", lambda request, speaking: speaking)
    gateway: Any = SimpleNamespace(
        settings=GatewaySettings(_env_file=None), callers=SimpleNamespace(identify=lambda _: None)
    )
    request: Any = SimpleNamespace(state=SimpleNamespace(request_id="r"))
    orders = [TtsRequest(text=text, format="pcm", sample_rate=24000) for text in ("One.", "Two.")]
    with pytest.raises(ApiError) if full == "One." else nullcontext():
        file, _ = await lines._whole(request, gateway, orders)
        assert len(file) == 400
    assert Refused.tries == tries
