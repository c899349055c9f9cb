"""Live sessions with real processes: tokens in, speech out, interrupted, paused, refused, recorded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from tests.e2e.live import LONG, SENTENCES, STORY, owed, running, session, until
from tests.e2e.processes import Server, gateway, worker
from tests.gateway.audio.files import wav_samples
from tests.gateway.callers.administration import ADMIN

_LIMITS = ("VOXFLEET_LIVE_PAUSE_SECONDS", "VOXFLEET_LIVE_SLOT_SECONDS", "VOXFLEET_LIVE_FLUSH_SECONDS")


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    """One worker of two slots; no pause or silence of a test is long for it."""
    settings = {**dict.fromkeys(_LIMITS, "60"), "VOXFLEET_LIVE_TEXT_CHARACTERS": "1000"}
    with worker(slots=2, step_ms=15) as one, gateway([one.url], **settings) as edge:
        yield edge


@pytest.fixture
def hasty() -> Iterator[Server]:
    """Pauses and silence cost the slot soon."""
    with worker(slots=2, step_ms=15) as one, gateway([one.url], **dict.fromkeys(_LIMITS, "0.4")) as edge:
        yield edge


async def test_tokens_become_sentences_that_are_spoken_while_more_come(fleet: Server) -> None:
    async with session(fleet) as live:
        for word in STORY.split(" "):
            await live.say("append", text=word + " ")
        await live.receive_audio()  # before anything was flushed or stopped
        await live.say("stop")
        assert await live.receive_rest() == 1000
    texts = [message["text"] for message in live.of_type("utterance")]
    assert "".join(texts) == STORY + " "
    assert tuple(texts) == (*SENTENCES[:-1], SENTENCES[-1] + " ")
    assert live.pcm == owed(*texts)
    for utterance, done in zip(live.of_type("utterance"), live.of_type("utterance_done"), strict=True):
        assert (STORY + " ")[utterance["start"] : utterance["end"]] == utterance["text"]
        part = live.pcm[2 * utterance["first_sample"] : 2 * done["last_sample"]]
        assert part == owed(utterance["text"])
    assert live.messages[-1]["type"] == "done" and live.messages[-1]["utterances"] == len(SENTENCES)


async def test_text_that_stops_is_spoken_without_a_flush(hasty: Server) -> None:
    async with session(hasty) as live:
        await live.say("append", text="It just ends here")
        assert (await live.receive_type("utterance"))["text"] == "It just ends here"
        await live.receive_type("utterance_done")


async def test_after_a_barge_in_no_old_audio_comes_and_the_next_text_is_spoken(fleet: Server) -> None:
    async with session(fleet) as live:
        await live.say("append", text=SENTENCES[0] + LONG)
        await live.say("flush")
        await live.receive_type("utterance_done")
        await live.receive_audio_bytes(len(owed(SENTENCES[0])) + 3 * 7680)
        await live.say("cancel", played_samples=len(owed(SENTENCES[0])) // 2)
        await live.say("append", text=SENTENCES[2])
        answer = await live.receive_type("cancelled")
        heard = live.pcm
        await live.say("stop")
        assert await live.receive_rest() == 1000
    assert (answer["epoch"], answer["spoken_text"]) == (1, SENTENCES[0])
    assert (answer["spoken_characters"], answer["estimated"]) == (len(SENTENCES[0]), False)
    assert answer["next_sample"] == len(heard) // 2
    assert live.pcm == heard + owed(SENTENCES[2])
    assert owed(SENTENCES[0], LONG).startswith(heard)
    assert len(live.of_type("cancelled")) == 1
    (utterance,) = [message for message in live.of_epoch(1) if message["type"] == "utterance"]
    assert utterance["first_sample"] == len(heard) // 2
    assert utterance["start"] == len(SENTENCES[0] + LONG)


async def test_every_cancel_is_answered_once_whatever_is_going_on(fleet: Server) -> None:
    async with session(fleet) as live:
        for epoch in range(1, 6):
            await live.say("cancel", played_samples=0)
            assert (await live.receive_type("cancelled"))["epoch"] == epoch
            await live.say("append", text=LONG + "And")
        await live.receive_audio()
        await live.say("stop")
        await live.receive_rest()
    assert len(live.of_type("cancelled")) == 5


async def test_a_paused_session_goes_on_byte_for_byte(fleet: Server) -> None:
    async with session(fleet) as live:
        await live.say("append", text=STORY)
        await live.say("flush")
        await live.receive_audio_bytes(5 * 7680)
        await live.say("pause")
        await live.receive_type("paused")
        assert [entry["mode"] for entry in await running(fleet)] == ["DUPLEX_PAUSED"]
        one = (await asyncio.to_thread(fleet.get_json, "/api/workers"))["workers"][0]
        assert (one["live_active"], one["live_paused"]) == (0, 1)
        heard = len(live.pcm)
        await live.say("resume")
        await live.receive_type("resumed")
        assert len(live.pcm) == heard
        assert [entry["mode"] for entry in await running(fleet)] == ["DUPLEX_ACTIVE"]
        await live.say("stop")
        assert await live.receive_rest() == 1000
    assert live.pcm == owed(*SENTENCES)
    assert not live.of_type("released")


async def test_a_pause_past_its_limit_frees_the_slot_and_goes_on_byte_for_byte(hasty: Server) -> None:
    async with session(hasty) as live:
        await live.say("append", text=LONG)
        await live.say("flush")
        await live.receive_audio_bytes(5 * 7680)
        await live.say("pause")
        assert (await live.receive_type("paused"))["limit_seconds"] == 0.4
        assert (await live.receive_type("released"))["reason"] == "pause"

        async def nothing_runs() -> bool:
            return not await running(hasty)

        await until(nothing_runs)
        await live.say("resume")
        await live.receive_type("resumed")
        await live.receive_type("started")
        await live.say("stop")
        assert await live.receive_rest() == 1000
    assert live.pcm == owed(LONG)


async def test_a_session_with_nothing_to_say_lends_its_slot_to_others(hasty: Server) -> None:
    async with session(hasty) as live:
        await live.say("append", text=SENTENCES[0])
        await live.say("flush")
        assert (await live.receive_type("released"))["reason"] == "idle"
        assert not await running(hasty)
        await live.say("append", text=SENTENCES[1])
        await live.say("stop")
        assert await live.receive_rest() == 1000
    assert live.pcm == owed(SENTENCES[0], SENTENCES[1])
    assert len(live.of_type("started")) == 2


async def test_what_is_wrong_is_said_and_ends_nothing(fleet: Server) -> None:
    async with session(fleet) as live:
        for message in ("{", "[]", '{"type":"shout"}', '{"type":"append","text":"' + "x" * 1001 + '"}'):
            await live.socket.send(message)
        codes = [(await live.receive_type("error"))["error"]["code"] for _ in range(4)]
        assert codes == ["invalid_json", "invalid_message", "invalid_message", "too_much_text"]
        assert "1000" in live.messages[-1]["error"]["message"]
        await live.say("stats", underruns=1, played_samples=10, buffered_ms=100)
        await live.say("append", text=SENTENCES[0])
        await live.say("stop")
        assert await live.receive_rest() == 1000
    assert live.pcm == owed(SENTENCES[0])


async def test_samples_are_counted_at_the_rate_that_the_client_asked_for(fleet: Server) -> None:
    async with session(fleet, sample_rate=12_000) as live:
        await live.say("append", text=STORY)
        await live.say("stop")
        assert await live.receive_rest() == 1000
    assert live.of_type("started")[0]["sample_rate"] == 12_000
    assert len(live.pcm) == len(owed(*SENTENCES)) // 2
    assert live.messages[-1]["samples"] == len(live.pcm) // 2
    edges = [0, *(message["last_sample"] for message in live.of_type("utterance_done"))]
    assert edges[:-1] == [message["first_sample"] for message in live.of_type("utterance")]
    assert edges[-1] == len(live.pcm) // 2


async def test_a_flood_of_messages_closes_the_session(fleet: Server) -> None:
    async with session(fleet) as live:
        await live.receive_type("started")
        with contextlib.suppress(ConnectionClosed):
            for _ in range(2000):
                await live.socket.send('{"type":"flush"}')
        assert await live.receive_rest() in (1008, 1006)  # the rest of the flood may reset the connection

    async def nothing_runs() -> bool:
        return not await running(fleet)

    await until(nothing_runs)


async def test_a_wrong_start_closes_with_the_reason(fleet: Server) -> None:
    async with session(fleet, voice="nobody") as live:
        assert await live.receive_rest() == 1008
        assert live.messages[-1]["error"]["code"] == "unknown_voice"


async def test_a_session_is_recorded_on_request(fleet: Server) -> None:
    async with session(fleet, record=True) as live:
        started = await live.receive_type("started")
        await live.say("append", text=SENTENCES[0] + SENTENCES[1])
        await live.say("stop")
        assert await live.receive_rest() == 1000
    assert started["session_id"] == live.messages[-1]["session_id"]
    recorded = await asyncio.to_thread(fleet.get_json, f"/api/sessions/{started['session_id']}")
    assert recorded is not None
    answer = await asyncio.to_thread(httpx.get, f"{fleet.url}/api/sessions/{started['session_id']}/audio/1")
    assert wav_samples(answer.content) == owed(SENTENCES[1])


async def test_an_administrator_ends_a_session_that_rests(fleet: Server) -> None:
    async with session(fleet) as live:
        await live.receive_type("started")
        await live.say("pause")
        await live.receive_type("paused")
        (entry,) = await running(fleet)
        await asyncio.to_thread(httpx.delete, f"{fleet.url}/api/queue/{entry['ticket_id']}", headers=ADMIN)
        await live.receive_rest()
        assert (live.messages[-1]["type"], live.messages[-1]["fatal"]) == ("error", True)
        assert not await running(fleet)


async def test_early_text_is_kept_while_the_session_waits(fleet: Server) -> None:
    async with session(fleet) as first, session(fleet) as second:
        for busy in (first, second):
            await busy.say("append", text=LONG)
            await busy.say("flush")
            await busy.receive_type("started")
        async with session(fleet) as third:
            await third.say("append", text=STORY)
            assert (await third.receive_type("queued"))["position"] == 1
            await first.say("stop")
            await first.receive_rest()
            await third.say("stop")
            assert await third.receive_rest() == 1000
    assert third.pcm == owed(*SENTENCES)
