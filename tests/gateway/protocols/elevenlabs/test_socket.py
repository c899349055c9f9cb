"""`stream-input` and `multi-stream-input`: who says what when, and with which code it ends."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gateway.protocols.elevenlabs.messages import Message
from gateway.protocols.elevenlabs.socket import Connection
from tests.gateway.protocols.elevenlabs.told import Told
from tests.gateway.stages.processes import TEXT, GatewayProcess, all_free, pcm_of, queue_of, started_fleets

KEY = "a key that is long enough"
LONG = "It was the best of times, it was the worst of times. " * 8


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        keys = json.dumps({"alice": {"key": KEY}, "bob": {"key": KEY + "!", "max_streams": 1}})
        settings = {"data_dir": tmp_path_factory.mktemp("data"), "api_keys": keys, "anonymous": "false"}
        gateway, _ = start(1, slots=4, step_ms=10, gateway=settings)
        yield gateway
        assert not gateway.defects()


class Client(Told):
    """What is final, and the audio of a context."""

    async def hear_final(self, context: str | None = None) -> None:
        while not ((said := await self.hear()).get("isFinal") and said.get("contextId") == context):
            pass

    def audio(self, context: str | None = None) -> bytes:
        of_context = (said for said in self.said if said.get("contextId") == context and said.get("audio"))
        return b"".join(base64.b64decode(said["audio"]) for said in of_context)

    def characters(self, context: str | None = None) -> str:
        found = [said["alignment"]["chars"] for said in self.said
                 if said.get("contextId") == context and said.get("alignment")]  # fmt: skip
        return "".join(character for chars in found for character in chars)


@asynccontextmanager
async def opened(
    fleet: GatewayProcess,
    way: str = "stream-input",
    key: str | None = KEY,
    voice: str = "default",
    query: str = "",
) -> AsyncIterator[Client]:
    url = f"ws://127.0.0.1:{fleet.port}/v1/text-to-speech/{voice}/{way}?output_format=pcm_24000&seed=5{query}"
    headers = {"xi-api-key": key} if key else {}
    async with connect(url, additional_headers=headers, proxy=None, max_size=None) as socket:
        yield Client(socket)


async def test_one_stretch_of_speech(fleet: GatewayProcess) -> None:
    async with opened(fleet) as client:
        await client.say(text=" ", voice_settings=None, generation_config={"chunk_length_schedule": [50]})
        for word in TEXT.split():
            await client.say(text=f"{word} ", try_trigger_generation=True)
        await client.say(text="")
        assert await client.hear_rest() == 1000
    assert client.said[-1] == {"audio": None, "isFinal": True}
    assert len(client.audio()) == len(pcm_of(f"{TEXT} ", 5))
    assert client.characters() == f"{TEXT} "
    assert client.said[0]["isFinal"] is None and "contextId" not in client.said[0]


async def test_times_are_those_of_the_message(fleet: GatewayProcess) -> None:
    async with opened(fleet) as client:
        await client.say(text=LONG)
        await client.say(text="")
        await client.hear_rest()
    seconds = 0.0
    for said in client.said:
        if said.get("alignment"):
            starts, lengths = said["alignment"]["charStartTimesMs"], said["alignment"]["charDurationsMs"]
            assert starts == sorted(starts) and starts[0] >= 0 and min(lengths) >= 0
            seconds += (starts[-1] + lengths[-1]) / 1000
            assert said["normalizedAlignment"] == said["alignment"]
    assert seconds == pytest.approx(len(client.audio()) / 48000, abs=0.1)


async def test_a_break_is_silence_as_in_a_clip(fleet: GatewayProcess) -> None:
    async with opened(fleet) as client:
        await client.say(text=f'{TEXT}<break time="1.5s"')
        await client.say(text=f' />{TEXT}<break time="500ms"/>')
        await client.say(text="")
        assert await client.hear_rest() == 1000
    before = pcm_of(f"{TEXT} ", 5) + bytes(72_000)
    assert client.audio().startswith(before)
    assert len(client.audio()) == len(before) + len(pcm_of(f"{TEXT} ", 5)) + 24_000
    second = [said["alignment"] for said in client.said if said.get("alignment")][1]
    assert second["charStartTimesMs"][0] >= 1500


async def test_several_stretches_at_once(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        for context in ("a", "b"):
            await client.say(text=" ", context_id=context)
            await client.say(text=TEXT, context_id=context)
            await client.say(context_id=context, flush=True)
        await client.say(text="")  # a sign of life
        await client.say(text="", context_id="a")
        for context in ("a", "b"):
            await client.say(context_id=context, close_context=True)
        for _ in range(2):
            while not (await client.hear()).get("isFinal"):
                pass
        for context in ("a", "b"):
            assert len(client.audio(context)) == len(pcm_of(TEXT, 5))
            final = {"isFinal": True, "is_final": True, "contextId": context, "context_id": context}
            assert final in client.said, "for clients of either way to write names"
        await client.say(context_id="a", text=TEXT, flush=True)
        await client.say(close_socket=True)
        assert await client.hear_rest() == 1000


async def test_what_was_flushed_is_spoken_before_the_context_is_closed(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        await client.say(text="Hello there", context_id="a", flush=True)
        assert (await client.hear())["audio"]


async def test_a_context_may_be_opened_spoken_and_closed_by_one_message(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        await client.say(text=TEXT, context_id="a", close_context=True)
        await client.hear_final("a")
        assert len(client.audio("a")) == len(pcm_of(TEXT, 5))


async def test_in_auto_mode_every_message_is_spoken_at_once(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input", query="&auto_mode=true") as client:
        await client.say(text="Hello there ", context_id="a")
        assert (await client.hear())["contextId"] == "a"


@pytest.mark.parametrize("way", ["stream-input", "multi-stream-input"])
async def test_text_after_the_end_is_not_spoken_and_its_client_is_told(
    fleet: GatewayProcess, way: str
) -> None:
    context = None if way == "stream-input" else "a"
    named = {} if context is None else {"context_id": context}
    async with opened(fleet, way) as client:
        await client.say(text=LONG, flush=True, **named)
        await client.say(**({"text": ""} if context is None else {"close_context": True, **named}))
        await client.say(text=" ", **named)
        await client.say(text="Too late.", **named)
        await client.hear_final(context)
    (told,) = [said for said in client.said if "warning" in said]
    assert told["warning"] == "context_closed" and told.get("contextId") == context
    assert "worst" in client.characters(context) and "late" not in client.characters(context)


async def test_a_context_closed_twice_falls_silent(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        await client.say(text=LONG, context_id="a", flush=True)
        await client.hear()
        await client.say(context_id="a", close_context=True)
        await client.say(context_id="a", close_context=True)
        await client.hear_final("a")
        assert len(client.audio("a")) < len(pcm_of(LONG, 5)) / 2
        await all_free(fleet)
        await client.say(text=TEXT, context_id="b")
        await client.say(context_id="b", close_context=True)
        await client.hear_final("b")
        assert len(client.audio("b")) == len(pcm_of(TEXT, 5))


async def test_after_a_barge_in_its_context_may_be_opened_again_at_once(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        await client.say(text=LONG, context_id="a", flush=True)
        await client.hear()
        for _ in range(2):
            await client.say(context_id="a", close_context=True)
        await client.say(text=TEXT, context_id="a")
        await client.say(context_id="a", close_context=True)
        await client.hear_final("a")
        client.said.clear()
        await client.hear_final("a")
        assert len(client.audio("a")) == len(pcm_of(TEXT, 5))


async def test_who_leaves_gives_everything_back(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input") as client:
        for context in ("a", "b"):
            await client.say(text=LONG, context_id=context, flush=True)
            await client.hear()
        assert len((await queue_of(fleet))["running"]) == 2
    await all_free(fleet)


@pytest.mark.parametrize("way", ["stream-input", "multi-stream-input"])
async def test_text_without_words_brings_audio_too(fleet: GatewayProcess, way: str) -> None:
    context = None if way == "stream-input" else "a"
    named = {} if context is None else {"context_id": context}
    async with opened(fleet, way) as client:
        await client.say(text="... ", **named)
        await client.say(**({"text": ""} if context is None else {"context_id": "a", "close_context": True}))
        await client.hear_final(context)
    assert client.audio(context) and not any(client.audio(context))


async def test_a_key_may_come_with_the_first_message(fleet: GatewayProcess) -> None:
    async with opened(fleet, key=None) as client:
        await client.say(text=TEXT, **{"xi-api-key": KEY})
        await client.say(text="")
        assert await client.hear_rest() == 1000
    wrong = {"xi_api_key": "of nobody at all"}
    for more, error in (({}, "api_key_required"), (wrong, "invalid_api_key")):
        async with opened(fleet, key=None) as client:
            await client.say(text=TEXT, **more)
            assert await client.hear_rest() == 1008
        assert (client.said[-1]["code"], client.said[-1]["error"]) == (1008, error)


async def test_a_wrong_key_is_refused_before_the_socket_opens(fleet: GatewayProcess) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with opened(fleet, key="of nobody at all"):
            pass
    assert refused.value.response.status_code == 401
    assert json.loads(refused.value.response.body)["detail"]["status"] == "invalid_api_key"


@pytest.mark.parametrize(
    ("message", "query", "voice", "error"),
    [
        ("{", "", "default", "invalid_json"),
        ("[]", "", "default", "invalid_message"),
        ('{"text": 5}', "", "default", "invalid_value"),
        ('{"text": "hi", "voice_settings": {"speed": 9.0}}', "", "default", "invalid_value"),
        ('{"text": "hi"}', "&language_code=no-such-thing!", "default", "invalid_value"),
        ('{"text": "hi", "flush": true}', "", "nobody", "unknown_voice"),
    ],
)
@pytest.mark.parametrize("way", ["stream-input", "multi-stream-input"])
async def test_what_is_wrong_is_told(
    fleet: GatewayProcess, way: str, message: str, query: str, voice: str, error: str
) -> None:
    async with opened(fleet, way, voice=voice, query=query) as client:
        with suppress(ConnectionClosed):  # refused by its address already: the client reads why
            await client.socket.send(message)
        said = await client.hear()
        assert said["error"] == error and said["message"]
        if error != "unknown_voice" or way == "stream-input":
            assert await client.hear_rest() == said["code"]


async def test_limits_hold_here_too(fleet: GatewayProcess) -> None:
    async with opened(fleet, "multi-stream-input", key=KEY + "!") as client:
        await client.say(text=LONG, context_id="a", flush=True)
        await client.hear()
        await client.say(text=TEXT, context_id="b", flush=True)
        while not (said := await client.hear()).get("error"):
            pass
        assert said["error"] == "too_many_streams"
    await all_free(fleet)


async def test_a_context_for_which_there_is_no_room_ends_alone(fleet: GatewayProcess) -> None:
    ids = [f"c{number}" for number in range(17)]
    async with opened(fleet, "multi-stream-input") as client:
        for id in ids:
            await client.say(text=TEXT, context_id=id)
        while not (said := await client.hear()).get("error"):
            pass
        assert (said["error"], said["contextId"]) == ("too_many_contexts", ids[-1])
        await client.say(text="x" * 100_001, context_id=ids[1])
        while not (said := await client.hear()).get("error"):
            pass
        assert (said["error"], said["contextId"]) == ("too_much_text", ids[1])
        await client.say(text=TEXT, context_id=ids[-1])
        for id in (ids[0], *ids[2:]):  # all, or those with a slot would keep it from the last one for a while
            await client.say(context_id=id, close_context=True)
        for id in (ids[0], ids[-1]):
            await client.hear_final(id)
            assert len(client.audio(id)) == len(pcm_of(TEXT, 5))


@pytest.mark.parametrize("has_text", [False, True])
def test_a_blank_is_text_behind_text_and_a_sign_of_life_before(has_text: bool) -> None:
    done: list[str] = []
    dialogue = SimpleNamespace(finishing=False, has_text=has_text, append=done.append)
    dialogue.keep_alive = lambda: done.append("kept alive")
    connection = SimpleNamespace(_options=SimpleNamespace(speaks_at_once=True))
    Connection._speak(connection, SimpleNamespace(dialogue=dialogue), Message(text=" "))
    assert done == [" " if has_text else "kept alive"]


async def test_nothing_said_is_nothing_heard(fleet: GatewayProcess) -> None:
    async with opened(fleet) as client:
        await client.say(text="")
        assert await client.hear_rest() == 1000
    async with opened(fleet, "multi-stream-input") as client:
        await client.say(text="")
        await client.say(context_id="x", close_context=True)
        await client.say(close_socket=True)
        assert await client.hear_rest() == 1000
    assert client.said == []
