"""`/v2/speak` of a real gateway, over HTTP and WebSocket, as Deepgram's clients use it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect

from tests.gateway.protocols.deepgram.links import HEADERS, Speech
from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess, started_fleets

PLUGIN_QUERY = "model=flux-heather-en&encoding=linear16&sample_rate=24000&mip_opt_out=false&tag=a&tag=b"


@asynccontextmanager
async def turns(fleet: GatewayProcess, query: str = PLUGIN_QUERY) -> AsyncIterator[Speech]:
    url = f"ws://127.0.0.1:{fleet.port}/v2/speak?{query}"
    async with connect(url, proxy=None, close_timeout=1, additional_headers=HEADERS) as socket:
        speech = Speech(socket)
        assert (await speech.receive())["type"] == "Connected"
        yield speech


def kinds(speech: Speech) -> list[str]:
    return [message["type"] for message in speech.messages]


async def test_a_clip_is_asked_for_as_of_the_first_version(fleet: GatewayProcess) -> None:
    query = {"model": "flux-heather-en", "encoding": "linear16", "container": "none", "expressivity": 1}
    async with fleet.http(headers=HEADERS) as http:
        answer, first, wrong = [
            await http.post(path, params=asked, json={"text": TEXT})
            for path, asked in (
                ("/v2/speak", query),
                ("/v1/speak", {**query, "model": "aura-2-thalia-en"}),
                ("/v2/speak", {**query, "encoding": "speex"}),
            )
        ]
    assert answer.status_code == 200 and len(answer.content) == len(first.content)
    assert answer.headers["X-Ignored-Fields"] == "expressivity"
    assert (wrong.status_code, wrong.json()["err_code"]) == (400, "INVALID_VALUE")


async def test_every_turn_has_its_audio_between_its_beginning_and_its_end(fleet: GatewayProcess) -> None:
    async with turns(fleet) as socket:
        for word in TEXT.split():
            await socket.say("Speak", text=f"{word} ")
        await socket.say("Flush")
        await socket.say("Speak", text="One more")
        await socket.say("Flush")
        begun = await socket.receive_type("SpeechStarted")
        ended = await socket.receive_type("SpeechMetadata")
        heard = len(socket.pcm)
        assert begun["speech_id"] == ended["speech_id"] == socket.of_type("Flushed")[0]["speech_id"]
        assert ended["audio_duration_ms"] == heard // 48 > 1000
        assert ended["input_character_count"] == ended["billable_character_count"] == len(TEXT) + 1
        again = await socket.receive_type("SpeechMetadata")
        assert again["speech_id"] == socket.of_type("SpeechStarted")[1]["speech_id"] != ended["speech_id"]
        assert again["audio_duration_ms"] == (len(socket.pcm) - heard) // 48 > 100
        await socket.say("Close")
        assert await socket.receive_rest() == 1000
    assert kinds(socket) == [
        "Connected",
        *("SpeechStarted", "Flushed", "SpeechMetadata") * 2,
        "SessionMetadata",
    ]
    assert socket.messages[-1]["total_audio_duration_ms"] == len(socket.pcm) // 48
    assert socket.messages[-1]["total_input_character_count"] == len(TEXT) + 1 + len("One more")


async def test_what_was_not_flushed_is_said_before_the_close(fleet: GatewayProcess) -> None:
    async with turns(fleet) as socket:
        await socket.say("Speak", text="One more")
        await socket.say("Close")
        assert await socket.receive_rest() == 1000
    assert kinds(socket)[1:] == ["SpeechStarted", "Flushed", "SpeechMetadata", "SessionMetadata"]
    assert len(socket.pcm) > 4800


async def test_an_interruption_tells_what_was_heard_and_the_next_turn_is_said(fleet: GatewayProcess) -> None:
    async with turns(fleet) as socket:
        await socket.say("Speak", text=TEXT)
        await socket.say("Flush")
        before = (await socket.receive_type("SpeechMetadata"))["audio_duration_ms"]
        for heard in (before + 500, before + 1000):  # of the whole session, as it was played
            await socket.say("Speak", text=LONG_TEXT)
            known = len(socket.pcm)
            while len(socket.pcm) - known < 48 * 1000:
                await socket.receive_audio()
            await socket.say("Interrupt", playback_offset={"type": "time_ms", "value": heard})
            told = await socket.receive_type("SpeechInterrupted")
            assert told["audio_played_ms"] == heard
            assert told["text_spoken"] + told["text_remaining"] == LONG_TEXT
            assert 0 < len(told["text_spoken"]) < 30, told["text_spoken"]
            assert told["metadata"]["speech_id"] == socket.of_type("SpeechStarted")[-1]["speech_id"]
        await socket.say("Interrupt")
        assert (await socket.receive_type("Warning"))["code"] == "NO_ACTIVE_SPEECH"
        known = len(socket.pcm)
        await socket.say("Speak", text="Next.")
        await socket.say("Interrupt", playback_offset={"type": "time_ms", "value": 1})
        assert (await socket.receive_type("Warning"))["code"] == "INVALID_INTERRUPT_OFFSET"
        await socket.say("Flush")
        ended = await socket.receive_type("SpeechMetadata")
        assert ended["audio_duration_ms"] == (len(socket.pcm) - known) // 48 < 2000
        await socket.say("Close")
        assert await socket.receive_rest() == 1000
    total = socket.messages[-1]["total_audio_duration_ms"]
    assert total == pytest.approx(before + 1000 + ended["audio_duration_ms"], abs=1), "what was heard counts"


async def test_a_turn_tells_of_its_pauses_and_what_was_heard_of_its_words(fleet: GatewayProcess) -> None:
    async with turns(fleet) as socket:
        for piece in ("One. \\{pau", "se:1s\\}Two.\\{pause:500ms\\}"):
            await socket.say("Speak", text=piece)
        await socket.say("Flush")
        ended = await socket.receive_type("SpeechMetadata")
        assert ended["controls_applied"]["breaks_applied"] == 2
        assert ended["input_character_count"] == len("One. Two. ")
        assert ended["audio_duration_ms"] == len(socket.pcm) // 48
        assert socket.pcm.endswith(bytes(24_000))
        heard = len(socket.pcm)
        await socket.say("Speak", text=f"One \\{{pause:500ms\\}}{LONG_TEXT}")
        while len(socket.pcm) < heard + 2 * 24_000 * 3:
            await socket.receive()
        offset = {"type": "time_ms", "value": (heard + 2 * 24_000) // 48}
        await socket.say("Interrupt", playback_offset=offset)
        cut = await socket.receive_type("SpeechInterrupted")
    assert cut["text_spoken"] + cut["text_remaining"] == f"One {LONG_TEXT}"
    assert (
        cut["text_spoken"].startswith("One ") and cut["metadata"]["controls_applied"]["breaks_applied"] == 1
    )


async def test_an_interruption_without_a_place_tells_no_text(fleet: GatewayProcess) -> None:
    async with turns(fleet) as socket:
        await socket.say("Speak", text=LONG_TEXT)
        await socket.receive_audio()
        await socket.say("Interrupt")
        told = await socket.receive_type("SpeechInterrupted")
        assert told.keys() == {"type", "audio_played_ms", "metadata"}
        assert told["audio_played_ms"] >= len(socket.pcm) // 48 > 0


async def test_turns_that_wait_go_with_the_one_that_is_interrupted(fleet: GatewayProcess) -> None:
    async with turns(fleet) as socket:
        await socket.say("Speak", text=LONG_TEXT)
        await socket.say("Flush")
        await socket.say("Speak", text="This comes behind it.")
        await socket.say("Flush")
        await socket.say("Interrupt")
        await socket.say("Close")
        assert await socket.receive_rest() == 1000
    assert kinds(socket)[1:] == ["SpeechStarted", "SpeechInterrupted", "SessionMetadata"]


async def test_a_speed_holds_for_what_follows_it(fleet: GatewayProcess) -> None:
    async with turns(fleet, PLUGIN_QUERY + "&speed=1.05") as socket:
        lengths = []
        for speed in (1.0, 2.0):
            await socket.say("Configure", speed=speed)
            assert (await socket.receive_type("ConfigureSuccess"))["applied"] == {"speed": speed}
            await socket.say("Speak", text=TEXT)
            await socket.say("Flush")
            lengths.append((await socket.receive_type("SpeechMetadata"))["audio_duration_ms"])
        assert lengths[0] / lengths[1] == pytest.approx(2.0, abs=0.2)
        await socket.say("Configure", speed=9)
        failure = await socket.receive_type("ConfigureFailure")
        assert (failure["code"], failure["field"], failure["value"]) == ("SPEED_OUT_OF_RANGE", "speed", 9)


async def test_a_turn_without_words_is_a_moment_of_silence(fleet: GatewayProcess) -> None:
    async with turns(fleet) as socket:
        await socket.say("Speak", text="… ")
        await socket.say("Flush")
        assert (await socket.receive_type("SpeechMetadata"))["audio_duration_ms"] == 100
        await socket.say("Flush")
        assert (await socket.receive_type("Warning"))["code"] == "NO_ACTIVE_SPEECH"
        await socket.say("Close")
        assert await socket.receive_rest() == 1000
    assert socket.pcm == bytes(4800)


async def test_a_wrong_message_is_warned_of(fleet: GatewayProcess) -> None:
    async with turns(fleet) as socket:
        await socket.say("Clear")
        warning = await socket.receive_type("Warning")
        assert (
            warning["code"] == "INVALID_MESSAGE" and "Interrupt, Configure, Flush" in warning["description"]
        )
        await socket.say("Interrupt", playback_offset={"type": "time_ms", "value": -1})
        assert (await socket.receive_type("Warning"))["code"] == "INVALID_VALUE"


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_pings_keep_a_silent_socket_open(version: str) -> None:
    with started_fleets() as start:
        gateway, _ = start(1, slots=4, step_ms=2, gateway={"live_idle_seconds": 0.5})
        url = f"ws://127.0.0.1:{gateway.port}/{version}/speak"
        async with (
            connect(url, proxy=None, ping_interval=0.1) as alive,
            connect(url, proxy=None, ping_interval=None) as silent,
        ):
            assert await Speech(silent).receive_rest() == 1008
            speech = Speech(alive)
            await speech.say("Speak", text=TEXT)
            await speech.say("Close")
            assert await speech.receive_rest() == 1000 and speech.pcm


async def test_so_many_turns_wait() -> None:
    with started_fleets() as start:
        gateway, _ = start(1, slots=1, step_ms=5, gateway={"live_messages_per_second": 10_000})
        async with turns(gateway) as speech:
            await speech.say("Speak", text=LONG_TEXT * 20)
            await speech.say("Flush")
            for _ in range(1001):
                await speech.say("Speak", text="")
                await speech.say("Flush")
            assert (await speech.receive_type("Warning"))["code"] == "TOO_MANY_TURNS"
            await speech.say("Interrupt")
            await speech.receive_type("SpeechInterrupted")
