"""What was spoken is fetched in any format, with its chapters."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import pytest
import soundfile

from gateway.audio.note import SOURCE_TYPE
from gateway.jobs.result import result_pieces
from tests.gateway.jobs.stage import (
    RATE,
    WHOLE,
    reading_worker,
    running,
)
from tests.gateway.stages.processes import check_error

OPUS = {"format": "opus", "bit_rate": 256_001}
FORMATS = ("wav", "mp3", "flac", "opus", "aac", "m4b")


async def test_any_format_has_all_of_it_and_its_chapters(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post(format="ulaw")
        await service.until(job_id, "complete")
        files = {name: await service.result(job_id, format=name) for name in FORMATS}
        telephony = await service.result(job_id)
        slow = await service.result(job_id, format="wav", sample_rate=8000)
        assert len(await service.result(job_id, format="mp3", bit_rate=320_000)) > len(files["mp3"])
        async with service.at() as http:
            for wrong in (
                {"format": "exe"},
                {"format": "mp3", "sample_rate": 9000},
                {"sample_rate": 1},
                OPUS,
            ):
                check_error(await http.get(f"/api/jobs/{job_id}/result", params=wrong), 422)
    seconds = len(WHOLE) / 2 / RATE
    assert len(telephony) == pytest.approx(8000 * seconds, rel=0.01)
    assert len(soundfile.read(io.BytesIO(slow))[0]) == pytest.approx(8000 * seconds, rel=0.01)
    for name in ("wav", "flac"):
        samples, rate = soundfile.read(io.BytesIO(files[name]), dtype="int16")
        assert rate == RATE and samples.tobytes() == WHOLE
    for name, data in files.items():
        with av.open(io.BytesIO(data)) as file:
            stream = file.streams.audio[0]
            decoded = sum(frame.samples for frame in file.decode(stream)) / stream.rate
            titles = [chapter["metadata"]["title"] for chapter in file.chapters()]
        assert decoded == pytest.approx(seconds, abs=0.2), name
        assert titles == ([] if name == "wav" else ["Chapter 1", "Chapter 2"]), name


async def test_an_audiobook_is_made_once_kept_and_gone_with_its_job(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post(format="m4b", title="A book")
        await service.until(job_id, "complete")
        first, again = await asyncio.gather(service.result(job_id), service.result(job_id, format="m4b"))
        files = service.jobs.files(job_id)
        (kept,) = files.folder.glob("*.m4b*")
        assert first == again == kept.read_bytes()
        assert first.index(b"moov") < first.index(b"mdat")  # so that a player finds its way at once
        row = await service.jobs.store.get(job_id)
        assert row.size_bytes == sum(path.stat().st_size for path in files.folder.iterdir())
        async with service.at() as http:
            part = await http.get(f"/api/jobs/{job_id}/result", headers={"Range": "bytes=4-7"})
            assert (part.status_code, part.content) == (206, b"ftyp")
            assert part.headers["Content-Type"] == "audio/mp4"
        await service.result(job_id, bit_rate=32_000)
        (other,) = files.folder.glob("*.m4b*")
        assert other != kept and other.stat().st_size < len(first)
        async with service.at() as http:
            assert (await http.delete(f"/api/jobs/{job_id}")).status_code == 204
        assert not files.folder.exists()
    with av.open(io.BytesIO(first)) as file:
        assert (file.metadata["title"], file.metadata["comment"]) == ("A book", SOURCE_TYPE)


async def test_an_audiobook_of_a_job_that_goes_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, going = threading.Event(), threading.Event()

    def slow(*args: Any, **options: Any) -> Iterator[bytes]:
        begun.set()
        going.wait(30)
        yield from result_pieces(*args, **options)

    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post()
        await service.until(job_id, "complete")
        monkeypatch.setattr("gateway.jobs.service.result_pieces", slow)
        async with service.at() as http:
            fetching = asyncio.create_task(http.get(f"/api/jobs/{job_id}/result", params={"format": "m4b"}))
            await asyncio.to_thread(begun.wait)
            deleting = asyncio.create_task(http.delete(f"/api/jobs/{job_id}"))
            going.set()
            assert (await deleting).status_code == 204
            assert (await fetching).status_code in (200, 404)  # it may have been made just before
        assert not service.jobs.files(job_id).folder.exists()
        assert not service.jobs.audiobooks._making
