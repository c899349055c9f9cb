"""`POST /v1/audio/speech/batch` of a real gateway, as clients of vLLM-Omni and SGLang-Omni ask for it."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import wave
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import soundfile

from tests.gateway.stages.processes import TEXT, GatewayProcess, all_free, eventually, fleet_for, queue_of

KEY = "a key of nineteen or more signs"
PATH = "/v1/audio/speech/batch"


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    """Its client may have two clips at once."""
    with fleet_for(KEY, api_keys=json.dumps({"acme": {"key": KEY, "max_streams": 2}})) as gateway:
        yield gateway


async def ask(fleet: GatewayProcess, items: Any, key: str = KEY, **shared: Any) -> httpx.Response:
    async with fleet.http(headers={"Authorization": f"Bearer {key}"}) as http:
        return await http.post(PATH, json={"items": items} | shared)


def seconds(result: dict[str, Any]) -> float:
    with wave.open(io.BytesIO(base64.b64decode(result["audio_data"]))) as file:
        return file.getnframes() / file.getframerate()


async def test_each_text_is_a_file_in_its_place(fleet: GatewayProcess) -> None:
    texts = [TEXT * count for count in (1, 3, 2, 1, 1)]
    answer = await ask(fleet, [{"input": text} for text in texts], voice="vivian", language="English")
    told = answer.json()
    assert told["id"] == f"speech-batch-{answer.headers['X-Request-Id']}"
    assert (told["total"], told["succeeded"], told["failed"]) == (5, 5, 0)
    results = told["results"]
    assert [result["index"] for result in results] == [0, 1, 2, 3, 4]
    assert {result["status"] for result in results} == {"success"}
    assert {result["media_type"] for result in results} == {"audio/wav"}
    durations = [seconds(result) for result in results]
    assert durations[1] > durations[2] > durations[0]


async def test_a_text_goes_before_what_holds_for_all(fleet: GatewayProcess) -> None:
    items = [
        {"input": TEXT, "response_format": "flac", "speed": None},
        {"input": TEXT, "speed": 1.0, "task_type": "Base"},
    ]
    answer = await ask(fleet, items, response_format="wav", speed=2.0, max_new_tokens=512)
    fast, usual = answer.json()["results"]
    assert (fast["media_type"], usual["media_type"]) == ("audio/flac", "audio/wav")
    assert answer.headers["X-Ignored-Fields"] == "max_new_tokens, task_type"
    doubled = 2 * soundfile.info(io.BytesIO(base64.b64decode(fast["audio_data"]))).duration
    assert seconds(usual) == pytest.approx(doubled, rel=0.1)


async def test_a_text_that_cannot_be_spoken_takes_no_other_with_it(fleet: GatewayProcess) -> None:
    items = [
        {"input": " "},
        {"input": TEXT},
        {"input": TEXT, "voice": "nobody"},
        {"input": TEXT, "speed": "fast"},
        {"input": TEXT, "ref_audio": "data:audio/wav;base64,AA=="},
        {},
    ]
    told = (await ask(fleet, items)).json()
    assert (told["total"], told["succeeded"], told["failed"]) == (6, 1, 5)
    reasons = [result.get("error", "") for result in told["results"]]
    begins = ["text has no words", "", "there is no voice", "speed: ", "ref_audio: ", "input: "]
    assert [reason[: len(begin)] for reason, begin in zip(reasons, begins, strict=True)] == begins
    assert [set(result) for result in told["results"] if result["status"] == "error"] == [
        {"index", "status", "error"}
    ] * 5


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([], "invalid_value"),
        ([{"input": "a"}] * 33, "invalid_value"),
        ("a", "invalid_value"),
        (["a"], "invalid_value"),
        ([{"input": "a" * 3000}] * 2, "text_too_long"),
    ],
)
async def test_what_is_no_batch_is_refused(fleet: GatewayProcess, items: Any, code: str) -> None:
    error = (await ask(fleet, items)).json()["error"]
    assert (error["code"], error["param"].partition(".")[0]) == (code, "items")


async def test_all_files_together_are_no_longer_than_one_may_be(fleet: GatewayProcess) -> None:
    """Each could be ten minutes long, whatever its text: a gigabyte for one small body."""
    told = (await ask(fleet, [{"input": TEXT, "min_seconds": each} for each in (1, 350, 350, 1)])).json()
    assert told["failed"] == 1, "whose audio takes no room any more"
    audio = sum(seconds(result) for result in told["results"] if result["status"] == "success")
    assert audio <= 600
    (reason, *_) = (result["error"] for result in told["results"] if result["status"] == "error")
    assert reason == "the files of one batch have at most 600 s of audio together"


async def test_who_leaves_holds_no_slot(fleet: GatewayProcess) -> None:
    async def spoken() -> bool | None:
        return True if len((await queue_of(fleet))["running"]) == 2 else None

    asking = asyncio.create_task(ask(fleet, [{"input": TEXT}] * 3, min_seconds=500))
    await eventually(spoken, "two texts are not spoken at once")
    asking.cancel()
    await all_free(fleet)


async def test_a_key_is_needed_where_others_need_one(fleet: GatewayProcess) -> None:
    assert (await ask(fleet, [{"input": TEXT}], key="wrong")).status_code == 401
