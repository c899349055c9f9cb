"""`WS /v1/audio/speech/stream` of a real gateway, as clients of vLLM-Omni use it."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import soundfile
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.gateway.audio.samples import decoded_seconds
from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess, Stream, fleet_for

KEY = "a key of nineteen or more signs"
PATH = "/v1/audio/speech/stream"
SENTENCES = ["The harbour was quiet.", "Then the boats came in."]
TWO = " ".join(SENTENCES)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """So few messages a second that a text token by token would be a flood, were it not for its path."""
    folder = tmp_path_factory.mktemp("data")
    with fleet_for(KEY, data_dir=folder, max_messages_per_second=4) as gateway:
        yield gateway


class Client(Stream):
    """One socket."""

    def __init__(self, socket: Any) -> None:
        super().__init__(socket)
        self.files: list[bytes] = []
        """Binary messages since the last `session.done`."""

    async def say(self, kind: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": kind, **fields}))

    async def speak(self, *pieces: str) -> list[dict[str, Any]]:
        """What is answered to a text in pieces, up to its end."""
        for piece in pieces:
            await self.say("input.text", text=piece)
        await self.say("input.done")
        return await self.answer()

    async def answer(self) -> list[dict[str, Any]]:
        """What comes up to the end of a text."""
        told, self.files = [], []
        while not told or told[-1]["type"] != "session.done":
            message = await self.receive()
            if isinstance(message, bytes):
                self.files.append(message)
            else:
                told.append(message)
        return told


@asynccontextmanager
async def opened(fleet: GatewayProcess, key: str = KEY, **config: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    url = f"ws://127.0.0.1:{fleet.port}{PATH}"
    async with connect(url, additional_headers=headers, proxy=None, close_timeout=1, max_size=None) as socket:
        client = Client(socket)
        if config:
            await client.say("session.config", **config)
        yield client


def kinds(told: list[dict[str, Any]]) -> list[str]:
    return [message["type"] for message in told]


async def test_as_its_example_asks_for_wav(fleet: GatewayProcess) -> None:
    """Voice, task and words of the example; each word is a message, as of somebody who is being heard."""
    asked = {"voice": "Vivian", "task_type": "CustomVoice", "response_format": "wav", "speed": 1.0}
    async with opened(fleet, **asked, language="English", split_granularity="sentence") as client:
        told = await client.speak(*(f"{word} " for word in TWO.split()))
        assert kinds(told) == [*["audio.start", "audio.done"] * 2, "session.done"]
        starts = client.of_type("audio.start")
        assert [start["sentence_text"].strip() for start in starts] == SENTENCES
        assert [start["format"] for start in starts] == ["wav", "wav"]
        ends = client.of_type("audio.done")
        assert [(end["utterance_index"], end["sentence_index"]) for end in ends] == [(0, 0), (0, 1)]
        assert [end["error"] for end in ends] == [False, False]
        assert [end["total_bytes"] for end in ends] == [len(file) for file in client.files]
        assert told[-1] == {"type": "session.done", "utterance_index": 0, "total_sentences": 2}
        for file in client.files:
            samples, rate = soundfile.read(io.BytesIO(file))
            assert len(samples) / rate > 0.3
        await client.say("session.close")
        assert await client.receive_rest() == 1000


async def test_pcm_comes_while_it_is_generated(fleet: GatewayProcess) -> None:
    async with opened(fleet, stream_audio=True, response_format="pcm", split_granularity="clause") as client:
        told = await client.speak(TWO)
        assert len(client.files) > 2
        start = client.of_type("audio.start")[0]
        assert (start["format"], start["sample_rate"], start["channels"]) == ("pcm", 24000, 1)
        assert told[-1]["total_sentences"] == 2
        assert sum(end["total_bytes"] for end in client.of_type("audio.done")) == len(client.pcm)


async def test_without_a_split_a_text_is_one_file(fleet: GatewayProcess) -> None:
    async with opened(fleet, voice="default", response_format="mp3") as client:
        told = await client.speak(SENTENCES[0], f" {SENTENCES[1]}")
        assert kinds(told) == ["audio.start", "audio.done", "session.done"]
        assert told[0]["sentence_text"] == TWO
        (file,) = client.files
        assert decoded_seconds(file, "mp3", 48_000) > 1


async def test_texts_follow_each_other_on_one_socket_each_as_it_was_asked_for(fleet: GatewayProcess) -> None:
    async with opened(fleet, response_format="flac") as client:
        await client.speak(TEXT)
        assert client.files[0].startswith(b"fLaC")
        assert kinds(await client.speak()) == ["session.done"]  # nothing was said
        await client.say("input.text", text=TEXT)
        await client.say("input.done")
        await client.say("session.config", response_format="wav", voice="default")
        await client.say("input.text", text=SENTENCES[1])
        await client.say("input.done")
        assert (await client.answer())[-1]["utterance_index"] == 2
        assert client.files[0].startswith(b"fLaC")
        told = await client.answer()
        assert client.files[0].startswith(b"RIFF")
        assert told[0]["sentence_text"] == SENTENCES[1]
        assert told[-1] == {"type": "session.done", "utterance_index": 3, "total_sentences": 1}


async def test_the_last_configuration_holds(fleet: GatewayProcess) -> None:
    async with opened(fleet, response_format="flac") as client:
        await client.say("session.config", response_format="mp3", voice="Vivian")
        await client.say("session.config", speed=7)  # which is refused
        await client.say("session.config", response_format="opus")
        assert (await client.speak(TEXT))[-1]["utterance_index"] == 0
        assert client.files[0].startswith(b"OggS")


async def test_text_without_words_is_no_file(fleet: GatewayProcess) -> None:
    async with opened(fleet, response_format="wav") as client:
        assert await client.speak(" ... ") == [
            {"type": "session.done", "utterance_index": 0, "total_sentences": 0}
        ]
        await client.say("session.close")
        assert await client.receive_rest() == 1000
        assert client.pcm == b""


async def test_a_long_file_is_sent_whole(fleet: GatewayProcess) -> None:
    """Larger than what is held for a client that does not read."""
    async with opened(fleet, response_format="wav", sample_rate=48_000, split_granularity="none") as client:
        await client.speak(LONG_TEXT * (1500 // len(LONG_TEXT)))
        (file,) = client.files
        assert len(file) > 4 << 20


async def test_a_file_that_is_too_long_is_not_held(fleet: GatewayProcess) -> None:
    async with opened(fleet, response_format="wav") as client:
        await client.say("input.text", text="a" * 4097)
        assert "stream_audio" in (await client.receive_type("error"))["message"]
    with fleet_for(KEY, max_clip_seconds=0.5) as narrow:
        async with opened(narrow, response_format="wav") as client:
            await client.say("input.text", text=LONG_TEXT)
            await client.say("input.done")
            assert "stream_audio" in (await client.receive_type("error"))["message"]
            assert await client.receive_rest() == 1008
        assert client.pcm == b""


async def test_a_configuration_waits_for_the_end_of_a_text(fleet: GatewayProcess) -> None:
    async with opened(fleet, response_format="wav") as client:
        await client.say("input.text", text=TEXT)
        await client.say("session.config", response_format="flac")
        assert "input.done" in (await client.receive_type("error"))["message"]
        await client.speak()
        assert client.files[0].startswith(b"RIFF")


@pytest.mark.parametrize(
    "sent",
    [
        "{",
        "[]",
        '{"type": "input.audio"}',
        '{"type": "input.text", "text": 5}',
        '{"type": "session.config", "speed": 9}',
        json.dumps({"type": "input.text", "text": "a" * 100_001}),
    ],
)
async def test_a_wrong_message_is_answered_and_nothing_ends(fleet: GatewayProcess, sent: str) -> None:
    async with opened(fleet, response_format="wav") as client:
        await client.socket.send(sent)
        assert (await client.receive_type("error"))["message"]
        assert (await client.speak(TEXT))[-1]["total_sentences"] == 1


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"ref_audio": "https://example.org/clone_2.wav", "ref_text": "Okay. Yeah."}, "consent"),
        ({"speaker_embedding": [0.1, 0.2]}, "consent"),
        ({"word_timestamps": True}, "word_timestamps"),
        ({"stream_audio": True, "response_format": "wav"}, "pcm"),
        ({"split_granularity": "letter"}, "split_granularity"),
        ({"voice": "nobody"}, "nobody"),
    ],
)
async def test_what_cannot_be_had_is_refused_in_words(
    fleet: GatewayProcess, fields: dict[str, Any], named: str
) -> None:
    async with opened(fleet, **fields) as client:
        await client.say("input.text", text=TEXT)
        await client.say("input.done")
        assert await client.receive_rest() == 1008
    assert named in client.messages[-1]["message"]
    assert client.pcm == b""


async def test_the_first_message_says_how_to_speak(fleet: GatewayProcess) -> None:
    async with opened(fleet) as client:
        await client.say("input.text", text=TEXT)
        assert "session.config" in (await client.receive_type("error"))["message"]
        assert await client.receive_rest() == 1008


async def test_who_may_not_speak_gets_no_socket(fleet: GatewayProcess) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        async with opened(fleet, "wrong"):
            pass
    assert refusal.value.response.status_code == 401
