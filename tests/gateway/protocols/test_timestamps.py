"""Times of words as our own clients are told: in JSON, line by line, over both sockets."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.gateway.stages.processes import TEXT, GatewayProcess, check_error, pcm_of, started_fleets

SECONDS = len(pcm_of(TEXT, 5)) / 2 / 24_000


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        settings = {"data_dir": tmp_path_factory.mktemp("data"), "aligner": "off"}
        gateway, _ = start(1, slots=4, step_ms=2, gateway=settings)
        yield gateway
        assert not gateway.defects()


def check_words(told: dict[str, Any], text: str, seconds: float, begin: float = 0.0) -> None:
    words = told["words"]
    assert told["source"] == "estimated"
    assert [word["text"] for word in words] == text.split()
    assert all(text[word["start"] : word["end"]] == word["text"] for word in words)
    assert all(a["end_seconds"] <= b["start_seconds"] for a, b in pairwise(words))
    assert begin <= words[0]["start_seconds"] and words[-1]["end_seconds"] <= seconds + 0.001
    assert " ".join(cue["text"] for cue in told["cues"]) == text


async def test_a_whole_clip_is_json(fleet: GatewayProcess) -> None:
    async with fleet.http() as http:
        answer = await http.post(
            "/tts", json={"text": TEXT, "seed": 5, "timestamps": "word", "format": "pcm"}
        )
    said = answer.json()
    assert base64.b64decode(said["audio"]) == pcm_of(TEXT, 5)
    assert (said["seed"], said["sample_rate"], said["finish_reason"]) == (5, 24_000, "stop")
    assert said["audio_seconds"] == pytest.approx(SECONDS)
    check_words(said["timestamps"], TEXT, SECONDS)


async def test_one_that_comes_is_a_line_for_each_thing(fleet: GatewayProcess) -> None:
    body = {"text": TEXT, "seed": 5, "timestamps": "character", "format": "mp3", "stream": True}
    async with fleet.http() as http:
        answer = await http.post("/tts", json=body)
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    kinds = [line["type"] for line in lines]
    assert kinds[0] == "audio" and kinds[-1] == "done" and kinds.count("timestamps") == 1
    (told,) = (line for line in lines if line["type"] == "timestamps")
    assert "".join(each["text"] for each in told["characters"]) == TEXT


async def test_a_player_gets_the_file_alone(fleet: GatewayProcess) -> None:
    async with fleet.http() as http:
        refused = await http.get("/tts", params={"text": TEXT, "timestamps": "word"})
        assert check_error(refused, 422)["param"] == "timestamps"
        wrong = await http.post("/tts", json={"text": TEXT, "timestamps": "syllable"})
        assert check_error(wrong, 422)["param"] == "timestamps"
        other = await http.post("/v1/audio/speech", json={"input": TEXT, "timestamps": "word"})
        assert other.headers["X-Ignored-Fields"] == "timestamps"


async def test_a_stream_tells_them_after_the_audio(fleet: GatewayProcess) -> None:
    async with fleet.stream(text=TEXT, seed=5, timestamps="word") as client:
        assert await client.receive_rest() == 1000
    (told,) = client.of_type("timestamps")
    check_words(told, TEXT, SECONDS)
    kinds = [message["type"] for message in client.messages]
    assert (
        kinds.index("started") < kinds.index("audio_done") < kinds.index("timestamps") < kinds.index("done")
    )
    async with fleet.stream(text=TEXT, seed=5) as client:
        await client.receive_rest()
    assert not client.of_type("timestamps") and not client.of_type("audio_done")


async def test_a_recorded_stream_keeps_what_was_told(fleet: GatewayProcess) -> None:
    async with fleet.stream(text=TEXT, seed=5, timestamps="word", record=True) as client:
        await client.receive_rest()
    (told,), (done,) = client.of_type("timestamps"), client.of_type("done")
    async with fleet.http() as http:
        url = f"/api/sessions/{done['session_id']}"
        (utterance,) = (await http.get(url)).json()["timeline"]["utterances"]
        file = await http.get(f"{url}/words.json")
        check_error(await http.get(f"{url}/words.doc"), 404)
    kept = [word["first_sample"] / 24_000 for word in utterance["words"]]
    assert kept == pytest.approx([word["start_seconds"] for word in told["words"]], abs=0.001)
    check_words(file.json(), TEXT, SECONDS)
    assert file.headers["X-Timestamps-Source"] == "estimated"


async def test_a_live_session_tells_them_of_each_sentence(fleet: GatewayProcess) -> None:
    sentences = ("One two three. ", "Four five six seven.")
    async with fleet.socket("/ws/live") as client:
        for message in (
            {"type": "start", "seed": 5, "timestamps": "word"},
            {"type": "append", "text": "".join(sentences)},
            {"type": "stop"},
        ):
            await client.socket.send(json.dumps(message))
        assert await client.receive_rest() == 1000
    text = "".join(sentences)
    told = client.of_type("timestamps")
    assert [message["index"] for message in told] == [0, 1]
    words = [word for message in told for word in message["words"]]
    assert [text[word["start"] : word["end"]] for word in words] == text.split()
    second = client.of_type("utterance")[1]["first_sample"] / 24_000
    assert words[2]["end_seconds"] <= second <= words[3]["start_seconds"]
    assert words[-1]["end_seconds"] <= client.of_type("done")[0]["samples"] / 24_000 + 0.001
    assert client.messages[-1]["type"] == "done"
