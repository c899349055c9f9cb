"""Answers that are spoken while they are written: text of one worker, speech of another."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import soundfile

from tests.gateway.stages.processes import (
    GatewayProcess,
    StartFleet,
    all_free,
    check_error,
    eventually,
    queue_of,
    started_fleets,
)
from tests.text_models import telling_model
from tests.worker.harness import WorkerProcess

CHAT = "/v1/chat/completions"
QUESTION = [{"role": "user", "content": "What did you see?"}]
SPOKEN = {
    "messages": QUESTION, "max_tokens": 40, "seed": 3, "modalities": ["text", "audio"],
    "audio": {"voice": "alloy", "format": "pcm16"},
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return telling_model(tmp_path_factory.mktemp("models") / "teller")


@pytest.fixture(scope="module")
def fleet(model: Path) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        workers = [start.worker(model=str(model), device="cpu"), start.worker(step_ms=20)]
        yield start.gateway(workers).wait_until_serving(2)


async def deltas(gateway: GatewayProcess, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    async with gateway.http() as http, http.stream("POST", CHAT, json={**body, "stream": True}) as response:
        assert response.status_code == 200, await response.aread()
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))["choices"][0]["delta"]


async def heard(gateway: GatewayProcess, body: dict[str, Any]) -> tuple[str, bytes]:
    transcript, audio = "", b""
    async for delta in deltas(gateway, body):
        transcript += delta.get("audio", {}).get("transcript", "")
        audio += base64.b64decode(delta.get("audio", {}).get("data", ""))
    return transcript, audio


async def written(gateway: GatewayProcess, body: dict[str, Any]) -> str:
    async with gateway.http() as http:
        alone = {**body, "modalities": ["text"], "enable_thinking": False}
        answer = (await http.post(CHAT, json=alone)).json()
    return answer["choices"][0]["message"]["content"]


async def test_what_is_written_is_spoken_and_told_meanwhile(fleet: GatewayProcess) -> None:
    transcript, audio = await heard(fleet, SPOKEN)
    assert transcript == await written(fleet, SPOKEN)
    seconds, characters = len(audio) / 2 / 24000, len(transcript)
    assert seconds == pytest.approx(characters / 15, rel=0.2)
    await all_free(fleet)


async def test_the_first_audio_does_not_wait_for_the_end_of_the_text(fleet: GatewayProcess) -> None:
    order = ""
    async for delta in deltas(fleet, {**SPOKEN, "max_tokens": 1500}):
        audio = delta.get("audio", {})
        order += "T" if "transcript" in audio else "A" if "data" in audio else ""
        if "AT" in order:
            break
    assert order.startswith("T")
    assert "AT" in order
    await all_free(fleet)


async def test_who_waits_for_its_speech_is_told_its_place(fleet: GatewayProcess) -> None:
    """Behind clips that have all slots for speech; what is written comes meanwhile."""
    body = {**SPOKEN, "stream": True, "stream_options": {"include_queue": True}}
    ahead = {"text": "A long story. " * 200, "format": "pcm", "stream": True}
    places, written, spoken = [], False, False
    async with fleet.http() as http, contextlib.AsyncExitStack() as clips:
        for _ in range(2):
            await clips.enter_async_context(http.stream("POST", "/tts", json=ahead))
        async with http.stream("POST", CHAT, json=body) as told:
            async for line in told.aiter_lines():
                event = json.loads(line[6:]) if line.startswith("data: {") else {"choices": []}
                if "queue" in event:
                    places.append((event["queue"]["position"], event["queue"]["speech"]))
                    await clips.aclose()
                audio = event["choices"][0]["delta"].get("audio", {}) if event["choices"] else {}
                written |= "transcript" in audio
                spoken |= "data" in audio
    assert places[0] == (1, True)
    assert written and spoken
    await all_free(fleet)


async def test_an_answer_that_is_being_read_is_not_ended_by_a_full_queue(
    start: StartFleet, model: Path
) -> None:
    """Its speech waits for the only slot, and a request of a higher class takes its place in line."""
    workers = [start.worker(model=str(model), device="cpu"), start.worker(slots=1, step_ms=5)]
    gateway = start.gateway(workers, max_queue=1).wait_until_serving(2)
    ahead = {"text": "A long story. " * 200, "format": "pcm", "stream": True}
    higher = {"text": "At once!", "format": "pcm"}
    transcript, audio, asked = "", b"", None

    async def higher_waits() -> bool | None:
        return [one["priority"] for one in (await queue_of(gateway))["queue"]] == ["default"] or None

    async with gateway.http() as http, contextlib.AsyncExitStack() as clips:
        await clips.enter_async_context(http.stream("POST", "/tts", json=ahead))
        async for delta in deltas(gateway, {**SPOKEN, "priority": "bulk"}):
            transcript += delta.get("audio", {}).get("transcript", "")
            audio += base64.b64decode(delta.get("audio", {}).get("data", ""))
            if asked is None:
                asked = asyncio.create_task(http.post("/tts", json=higher))
                await eventually(higher_waits, "the answer kept its place")
                await clips.aclose()
        assert (await asked).status_code == 200
    assert transcript == await written(gateway, SPOKEN)
    assert len(audio) / 2 / 24000 == pytest.approx(len(transcript) / 15, rel=0.2)
    await all_free(gateway)


async def test_a_spoken_answer_is_one_request_of_its_client(start: StartFleet, model: Path) -> None:
    key = "ann-0123456789abcdef"
    workers = [start.worker(model=str(model), device="cpu"), start.worker(step_ms=20)]
    limits = json.dumps({"ann": {"key": key, "max_streams": 1}})
    gateway = start.gateway(workers, api_keys=limits).wait_until_serving(2)
    async with gateway.http(headers={"Authorization": f"Bearer {key}"}) as http:
        answer, second = await asyncio.gather(
            *(http.post(CHAT, json={**SPOKEN, "max_tokens": 200}) for _ in range(2))
        )
    assert sorted((answer.status_code, second.status_code)) == [200, 429]
    await all_free(gateway)


@pytest.mark.parametrize("format", ["wav", "mp3"])
async def test_a_whole_answer_holds_a_file(fleet: GatewayProcess, format: str) -> None:
    async with fleet.http() as http:
        body = {**SPOKEN, "audio": {"voice": "default", "format": format}}
        answer = (await http.post(CHAT, json=body)).json()
    (choice,) = answer["choices"]
    message = choice["message"]
    data = base64.b64decode(message["audio"]["data"])
    assert (message["content"], choice["finish_reason"]) == (None, "length")
    assert message["audio"]["transcript"] == await written(fleet, SPOKEN)
    samples, rate = soundfile.read(io.BytesIO(data))
    assert (rate, len(samples) / rate > 5) == (24000, True)
    assert answer["usage"]["completion_tokens"] == 40


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"audio": {"voice": "nobody"}}, 404, "voice"),
        ({"audio": {"format": "midi"}}, 422, "audio.format"),
        ({"audio": {"model": "teller"}}, 404, "model"),
        ({"n": 2}, 422, "n"),
        ({"logprobs": True}, 422, "logprobs"),
        ({"modalities": ["text", "smell"]}, 422, "modalities.1"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_what_is_wrong_is_said_before_anything_is_written(
    fleet: GatewayProcess, fields: dict[str, Any], status: int, param: str, stream: bool
) -> None:
    async with fleet.http() as http:
        error = check_error(await http.post(CHAT, json={**SPOKEN, "stream": stream, **fields}), status)
    assert error["param"] == param


async def test_speech_that_is_too_long_for_a_whole_file_is_refused(start: StartFleet, model: Path) -> None:
    workers = [start.worker(model=str(model), device="cpu"), start.worker(step_ms=5)]
    gateway = start.gateway(workers, max_clip_seconds=2).wait_until_serving(2)
    async with gateway.http() as http:
        error = check_error(await http.post(CHAT, json=SPOKEN), 422)
    assert error["code"] == "audio_too_long"
    assert len((await heard(gateway, SPOKEN))[1]) > 2 * 2 * 24000
    await all_free(gateway)


async def test_without_a_speech_model_an_answer_is_not_begun(start: StartFleet, model: Path) -> None:
    gateway, _ = start(1, model=str(model), device="cpu")
    async with gateway.http() as http:
        check_error(await http.post(CHAT, json=SPOKEN), 404)
        assert 'voxfleet_tokens_total{kind="answer"}' not in (await http.get("/metrics")).text


async def test_killed_speakers_are_not_noticed(start: StartFleet, model: Path) -> None:
    speakers = [start.worker(step_ms=20) for _ in range(2)]
    gateway = start.gateway([*speakers, start.worker(model=str(model), device="cpu")]).wait_until_serving(3)
    undisturbed = await heard(gateway, SPOKEN | {"audio": {"voice": "default", "format": "pcm16"}})
    transcript, audio, killed = "", b"", False
    async for delta in deltas(gateway, SPOKEN):
        transcript += delta.get("audio", {}).get("transcript", "")
        audio += base64.b64decode(delta.get("audio", {}).get("data", ""))
        if audio and not killed:
            killed = True
            await asyncio.to_thread(_busy(speakers).kill)
    assert killed
    assert transcript == undisturbed[0]
    assert len(audio) == len(undisturbed[1])


def _busy(speakers: list[WorkerProcess]) -> WorkerProcess:
    return next(speaker for speaker in speakers if speaker.health().slots_used)


def _thinker(folder: Path, when: str) -> str:
    """Its name. When told so, its template opens a thought, which it never ends."""
    thinker = telling_model(folder)
    settings = json.loads((thinker / "tokenizer_config.json").read_text())
    settings["chat_template"] += "{%- if " + when + " %}{{- '<think>\\n' }}{%- endif %}"
    (thinker / "tokenizer_config.json").write_text(json.dumps(settings))
    return thinker.name


async def test_a_thought_that_the_template_opens_is_not_spoken(tmp_path: Path) -> None:
    names = [
        _thinker(tmp_path / "always", "true"),
        _thinker(tmp_path / "unless-told", "enable_thinking is not false"),
    ]
    with started_fleets() as start:
        thinkers = [start.worker(model=str(tmp_path / name), device="cpu") for name in names]
        gateway = start.gateway([*thinkers, start.worker()]).wait_until_serving(3)
        always, unless_told = ({**SPOKEN, "model": name} for name in names)
        thinking = {"enable_thinking": True}
        assert await written(gateway, always) != ""
        for body in (always, {**always, **thinking}, {**unless_told, **thinking}):
            assert await heard(gateway, body) == ("", b"")
        for body in (unless_told, {**unless_told, "enable_thinking": False}):
            transcript, audio = await heard(gateway, body)
            assert transcript == await written(gateway, unless_told)
            assert audio
