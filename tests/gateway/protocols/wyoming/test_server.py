"""The port of Wyoming of a real gateway, as Home Assistant uses it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.gateway.protocols.wyoming.assistant import Assistant, assistant
from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess, all_free, queued, started_fleets
from tests.text_models import telling_model

RATE = 24000


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        gateway, _ = start(
            1,
            slots=4,
            step_ms=2,
            gateway={"wyoming_port": 0, "max_message_bytes": 20_000, "live_text_characters": 100},
        )
        yield gateway
        assert not gateway.defects()


async def seconds_of_text(fleet: GatewayProcess) -> float:
    async with fleet.http() as http:
        return float((await http.post("/tts", json={"text": TEXT})).headers["X-Audio-Seconds"])


async def test_it_says_what_it_has(fleet: GatewayProcess) -> None:
    async with assistant(fleet) as there:
        there.say("describe")
        (program,) = (await there.until("info"))["tts"]
        assert program["installed"] and program["supports_synthesize_streaming"]
        assert program["voices"][0]["name"] == "default"
        for voice in program["voices"]:
            assert voice["languages"] and voice["installed"] and set(voice["attribution"]) == {"name", "url"}
        there.say("ping", text="there?")
        assert await there.until("pong") == {"text": "there?"}


async def test_one_text_after_the_other_is_spoken(fleet: GatewayProcess) -> None:
    seconds = await seconds_of_text(fleet)
    async with assistant(fleet) as there:
        for voice in ({"name": "default"}, {"language": "en-US"}, {"language": "en_US"}):
            there.pcm, there.events = b"", []
            there.say("synthesize", text=TEXT, voice=voice)
            end = await there.until("audio-stop")
            assert there.kinds() == ["audio-start", "audio-chunk", "audio-stop"]
            start = there.events[0][1]
            assert start == {"rate": RATE, "width": 2, "channels": 1, "timestamp": 0}
            assert len(there.pcm) / 2 / RATE == pytest.approx(seconds, abs=0.2)
            assert end["timestamp"] == pytest.approx(1000 * len(there.pcm) / 2 / RATE, abs=1)


async def test_text_that_streams_is_spoken_once(fleet: GatewayProcess) -> None:
    async with assistant(fleet) as there:
        for _ in range(2):
            there.pcm, there.events = b"", []
            there.say("synthesize-start", voice={"name": "default"})
            for word in TEXT.split():
                there.say("synthesize-chunk", text=f"{word} ")
            there.say("synthesize", text=TEXT)
            there.say("synthesize-stop")
            await there.until("synthesize-stopped")
            assert there.kinds() == ["audio-start", "audio-chunk", "audio-stop", "synthesize-stopped"]
            assert len(there.pcm) / 2 / RATE == pytest.approx(await seconds_of_text(fleet), abs=0.2)


SSML = '<speak>One two three.<break time="1.5s"/><sub alias="Four five six.">456</sub></speak>'


@pytest.mark.parametrize("streamed", [False, True])
async def test_ssml_is_said_with_its_pauses(fleet: GatewayProcess, streamed: bool) -> None:
    async with assistant(fleet) as there:
        if streamed:
            there.say("synthesize-start", text_format="ssml")
            for at in range(0, len(SSML), 7):
                there.say("synthesize-chunk", text=SSML[at : at + 7])
            there.say("synthesize-stop")
        else:
            there.say("synthesize", text=SSML, text_format="ssml")
        await there.until("audio-stop")
        marked, there.pcm = there.pcm, b""
        there.say("synthesize", text="One two three. Four five six.", text_format="text")
        await there.until("audio-stop")
    assert len(marked) == pytest.approx(len(there.pcm) + 3 * RATE, abs=0.2 * RATE)
    assert bytes(3 * RATE) in marked


async def test_what_is_wrong_with_ssml_is_said(fleet: GatewayProcess) -> None:
    async with assistant(fleet) as there:
        there.say("synthesize", text="<speak>One", text_format="ssml")
        assert (await there.until("error"))["code"] == "invalid_ssml"


async def test_a_text_may_be_longer_than_what_waits_of_a_live_session(fleet: GatewayProcess) -> None:
    async with fleet.http() as http:
        seconds = float((await http.post("/tts", json={"text": LONG_TEXT})).headers["X-Audio-Seconds"])
    async with assistant(fleet) as there:
        there.say("synthesize", text=LONG_TEXT)
        await there.until("audio-stop")
        assert len(there.pcm) / 2 / RATE == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize("streamed", [False, True])
async def test_who_has_said_all_and_closes_that_side_hears_it_to_its_end(
    fleet: GatewayProcess, streamed: bool
) -> None:
    """As `socat` does, and scripts with `nc`, at the end of what they read."""
    async with fleet.http() as http:
        seconds = float((await http.post("/tts", json={"text": LONG_TEXT})).headers["X-Audio-Seconds"])
    async with assistant(fleet) as there:
        if streamed:
            there.say("synthesize-start")
            there.say("synthesize-chunk", text=LONG_TEXT)
            there.say("synthesize-stop")
        else:
            there.say("synthesize", text=LONG_TEXT)
        there.writer.write_eof()
        await there.until("synthesize-stopped" if streamed else "audio-stop")
        assert len(there.pcm) / 2 / RATE == pytest.approx(seconds, rel=0.05)
        assert await there.receive() is None


async def test_who_leaves_within_a_text_is_not_waited_for(fleet: GatewayProcess) -> None:
    async with assistant(fleet) as there:
        there.say("synthesize-start")
        there.say("synthesize-chunk", text="One sentence. And")
        there.writer.write_eof()
        while await there.receive() is not None:
            pass
    await all_free(fleet)


async def test_a_sentence_is_heard_before_the_text_is_complete(fleet: GatewayProcess) -> None:
    async with assistant(fleet) as there:
        there.say("synthesize-start")
        there.say("synthesize-chunk", text="The first sentence. And then")
        await there.until("audio-chunk")
        there.say("synthesize-stop")
        await there.until("synthesize-stopped")


@pytest.mark.parametrize("text", ["", "…"])
async def test_text_without_words_is_no_error(fleet: GatewayProcess, text: str) -> None:
    async with assistant(fleet) as there:
        there.say("synthesize", text=text)
        await there.until("audio-stop")
        assert there.kinds()[0] == "audio-start" and not any(there.pcm)


async def test_unknown_events_and_payloads_are_dropped(fleet: GatewayProcess) -> None:
    async with assistant(fleet) as there:
        there.say("select-program", name="voxfleet")
        there.writer.write(b'{"type": "audio-chunk", "data": {"rate": 1}, "payload_length": 3}\nabc')
        there.writer.write(b'{"type": "synthesize-chunk", "data": {"text": "Nobody asked."}}\n')
        there.say("ping")
        await there.until("pong")
        assert there.kinds() == ["pong"]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "invalid_json"),
        (b"[]\n", "invalid_event"),
        (b'{"data": {}}\n', "invalid_event"),
        (b'{"type": "ping", "data_length": -1}\n', "invalid_event"),
        (b'{"type": "ping", "payload_length": 20001}\n', "event_too_large"),
        (b"x" * 50_000, "event_too_large"),
        (b"x" * 2_000_000, "event_too_large"),
        (b'{"type": "synthesize", "data": {"text": 5}}\n', "invalid_value"),
        (b'{"type": "synthesize", "data": {"text": "Hi.", "voice": {"name": "nobody"}}}\n', "unknown_voice"),
        (b'{"type": "synthesize", "data": {"text": "Hi.", "voice": "x"}}\n', "invalid_value"),
        (b'{"type": "synthesize-start"}\n{"type": "synthesize-start"}\n', "invalid_event"),
    ],
)
async def test_what_is_wrong_is_said_before_the_close(fleet: GatewayProcess, sent: bytes, code: str) -> None:
    async with assistant(fleet) as there:
        there.writer.write(sent)
        error = await there.until("error")
        assert error["code"] == code and error["text"]
        assert await there.receive() is None


async def test_who_leaves_holds_no_slot(fleet: GatewayProcess) -> None:
    async with assistant(fleet) as there:
        there.say("synthesize", text=LONG_TEXT)
        await there.until("audio-chunk")
    await all_free(fleet)


@pytest.fixture(scope="module")
def busy() -> Iterator[GatewayProcess]:
    """One slot, on which a clip takes longer than any test."""
    with started_fleets() as start:
        gateway, _ = start(1, slots=1, step_ms=1000, gateway={"wyoming_port": 0})
        yield gateway


@pytest.mark.parametrize("texts", [1, 2])
async def test_who_leaves_while_queued_keeps_no_place(busy: GatewayProcess, texts: int) -> None:
    async with busy.stream(text=TEXT, min_seconds=500) as speaking:
        await speaking.receive_type("started")
        async with assistant(busy) as there:
            for _ in range(texts):
                there.say("synthesize", text=TEXT)
            await queued(busy, 1)
        await queued(busy, 0)
    await all_free(busy)


async def test_who_closes_one_side_while_queued_is_asked_and_keeps_its_place(busy: GatewayProcess) -> None:
    async with busy.stream(text=TEXT, min_seconds=500) as speaking, assistant(busy) as there:
        await speaking.receive_type("started")
        there.say("synthesize", text=TEXT)
        there.writer.write_eof()
        for _ in range(3):
            assert await there.receive() == "ping"
        await queued(busy, 1)
        await speaking.cancel()
        await there.until("audio-start")


async def test_languages_are_those_of_speech_where_a_text_model_is_served(tmp_path: Path) -> None:
    model = telling_model(tmp_path / "teller")
    with started_fleets() as start:
        workers = [start.worker(model=str(model), device="cpu"), start.worker()]
        gateway = start.gateway(workers, wyoming_port=0).wait_until_serving(2)
        async with assistant(gateway) as there:
            there.say("describe")
            (program,) = (await there.until("info"))["tts"]
            assert program["voices"][0]["languages"] == ["en"]


def cut(there: Assistant) -> None:
    """Reset the connection."""
    there.writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0" + bytes(4)
    )
    there.writer.transport.abort()


async def test_one_address_has_half_of_the_connections(fleet: GatewayProcess) -> None:
    """S21: with all of them, which cost it nothing, it locked out everybody else's assistants."""
    async with AsyncExitStack() as opened:
        held = [await opened.enter_async_context(assistant(fleet)) for _ in range(50)]
        for each in held:
            each.say("ping")
            await each.until("pong")
        async with assistant(fleet) as late:
            assert await late.ended()
        async with assistant(fleet, address="127.0.0.2") as other:
            other.say("ping")
            await other.until("pong")


async def test_who_is_cut_off_while_it_is_answered_is_no_defect(fleet: GatewayProcess) -> None:
    """What it had sent by then is read, and the answers find the connection closed."""
    for _ in range(20):
        async with assistant(fleet) as there:
            for _ in range(50):
                there.say("describe")
            there.writer.write(b"[]\n")
            await there.writer.drain()
            cut(there)
    await all_free(fleet)
    assert not [line for line in fleet.log if "unhandled" in line or "Exception" in line]


async def test_a_gateway_that_ends_leaves_a_client_without_a_word_of_defects() -> None:
    with started_fleets() as start:
        gateway, _ = start(1, gateway={"wyoming_port": 0})
        async with assistant(gateway) as there:
            there.say("ping")
            await there.until("pong")
            assert gateway.terminate() == 0
            assert await there.receive() is None
        assert "Exception" not in "".join(gateway.log)


async def test_where_keys_are_needed_nobody_is_served() -> None:
    with started_fleets() as start:
        keys = json.dumps({"acme": {"key": "acme-0123456789abcdef"}})
        settings = {
            "wyoming_port": 0,
            "api_keys": keys,
            "anonymous": False,
            "worker_secret": "worker-0123456789abcdef",
        }
        gateway = start.gateway([], **settings)
        async with assistant(gateway) as there:
            assert (await there.until("error"))["code"] == "api_key_required"
            assert await there.receive() is None
        assert gateway.terminate() == 0
