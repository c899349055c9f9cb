"""When the words of a job are said: kept part by part, the same after a restart, told as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.jobs.words import JobWords, words_of
from gateway.timing.files import FORMATS
from gateway.timing.part import PartTimes
from gateway.timing.words import Granularity, Timed, Times, find_words
from tests.gateway.jobs.stage import TEXT, Service, reading_worker, running
from tests.gateway.stages.processes import check_error
from tests.gateway.stages.scripted_worker import Act
from tests.gateway.timing.audio import FakeAligner


async def words_file(service: Service, job_id: str, form: str) -> str:
    async with service.at() as http:
        answer = await http.get(f"/api/jobs/{job_id}/words.{form}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["X-Timestamps-Source"] in ("estimated", "aligned", "mixed")
    return answer.text


async def told_of(service: Service, job_id: str) -> dict[str, Any]:
    return json.loads(await words_file(service, job_id, "json"))


def check_order(words: list[dict[str, Any]], seconds: float) -> None:
    at = 0.0
    for word in words:
        assert at <= word["start_seconds"] <= word["end_seconds"] <= seconds + 0.001
        at = word["end_seconds"]


@pytest.mark.parametrize("speed", [1.0, 1.5])
async def test_words_are_told_in_every_form(tmp_path: Path, speed: float) -> None:
    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post(timestamps="word", speed=speed)
        job = await service.until(job_id, "complete")
        told = await told_of(service, job_id)
        srt, vtt = [await words_file(service, job_id, form) for form in ("srt", "vtt")]
        async with service.at() as http:
            check_error(await http.get(f"/api/jobs/{job_id}/words.doc"), 404)
        async with service.at("10.9.9.9") as http:
            check_error(await http.get(f"/api/jobs/{job_id}/words.json"), 404)
    assert job["timestamps"] == "word"
    assert (told["source"], told["text"]) == ("estimated", TEXT)
    assert [(word["start"], word["end"]) for word in told["words"]] == find_words(TEXT)
    assert all(TEXT[word["start"] : word["end"]] == word["text"] for word in told["words"])
    check_order(told["words"], job["audio_seconds"])
    second = next(word for word in told["words"] if word["start"] == TEXT.index("Chapter 2"))
    mark = job["chapters"][1]
    assert mark["start_seconds"] <= second["start_seconds"] < mark["end_seconds"]
    assert srt.startswith("1\n00:00:0") and vtt.startswith("WEBVTT\n\n00:00:0")
    shown = ["Chapter 1", "One part is short.", "The next one is longer.", "Chapter 2", "The last."]
    assert [cue["text"] for cue in told["cues"]] == shown
    assert srt.split("\n")[2::4] == shown


async def test_a_job_that_goes_on_has_the_same_words(tmp_path: Path) -> None:
    fields = {"timestamps": "word", "speed": 1.5}
    async with running(tmp_path / "one", reading_worker()) as service:
        job_id = await service.post(**fields)
        await service.until(job_id, "complete")
        undisturbed = await words_file(service, job_id, "json")
    hanging = reading_worker(Act(), Act(), Act(1, "hang"))
    async with running(tmp_path / "two", hanging) as service:
        job_id = await service.post(**fields)
        await service.until_parts(job_id, 2)
        async with service.at() as http:
            error = check_error(await http.get(f"/api/jobs/{job_id}/words.srt"), 409)
            assert error["code"] == "job_not_complete"
    with service.jobs.files(job_id).words.open("a") as file:  # what a crash may leave behind the last part
        file.write('{"source":"aligned","words":[]}\n{"sour')
    async with running(tmp_path / "two", reading_worker(Act(1, "cut"), Act())) as service:
        await service.until(job_id, "complete")
        assert await words_file(service, job_id, "json") == undisturbed


async def test_whoever_listens_is_asked_part_by_part(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        service.gateway.aligner = aligner = FakeAligner(seconds_each=0.05)
        job_id = await service.post(timestamps="character")
        job = await service.until(job_id, "complete")
        told = await told_of(service, job_id)
    assert len(aligner.asked) == 5 and told["source"] == "aligned"
    assert "".join(each["text"] for each in told["characters"]) == TEXT
    assert [each["start"] for each in told["characters"]] == list(range(len(TEXT)))
    check_order(told["characters"], job["audio_seconds"])


async def test_nobody_is_told_what_nobody_asked_for(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post()
        assert (await service.until(job_id, "complete"))["timestamps"] == "none"
        async with service.at() as http:
            error = check_error(await http.get(f"/api/jobs/{job_id}/words.srt"), 404)
        assert error["code"] == "no_timestamps"
        assert not service.jobs.files(job_id).words.exists()


async def test_words_that_are_gone_are_not_there(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post(timestamps="word")
        await service.until(job_id, "complete")
        service.jobs.files(job_id).words.unlink()
        async with service.at() as http:
            error = check_error(await http.get(f"/api/jobs/{job_id}/words.json"), 404)
        assert error["code"] == "no_timestamps"


@pytest.mark.parametrize("granularity", ["word", "character"])
def test_a_file_is_read_a_part_at_a_time(tmp_path: Path, granularity: Granularity) -> None:
    """No piece of a file holds more than a part, however many there are."""
    words, text = tmp_path / "words.jsonl", 'Say "so", please. '
    with words.open("w", encoding="utf-8") as file:
        for number in range(50):
            timed = tuple(Timed(*place, place[0] / 10, place[1] / 10) for place in find_words(text))
            part = PartTimes(text, 0, 2.0, Times("estimated", timed), tuple(map(float, range(len(text) + 1))))
            kept = words_of(part.moved(number * len(text), 2.0 * number), granularity)
            file.write(json.dumps(kept) + "\n")
    told = JobWords(words, granularity)
    pieces = {name: list(write(told)) for name, (_, write) in FORMATS.items()}
    assert all(len(piece) < 200 for each in pieces.values() for piece in each)
    content = json.loads("".join(pieces["json"]))
    assert content["text"] == 50 * text and len(content["cues"]) == 50
    assert "".join(pieces["srt"]).endswith('50\n00:01:38,000 --> 00:01:39,700\nSay "so", please.\n')
