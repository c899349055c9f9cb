"""A recording and its row are there together."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from gateway.database import TrainingRecording
from gateway.errors import ApiError
from gateway.training.request import RecordingForm
from gateway.training.service import Trainings
from gateway.training.store import STILL
from gateway.voices.recordings.checks import Checked
from gateway.voices.recordings.decoding import Recording
from tests.gateway.training.stage import running


async def test_a_recording_stays_when_its_row_is_written_after_the_request_was_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds SQLite's lock when the caller is cancelled."""
    async with running(tmp_path) as service:
        trainings: Trainings = service.trainings
        training = await trainings.store.get(await service.begin())
        writing = asyncio.Event()
        add = trainings.store.add_recording

        async def adding(recording: TrainingRecording, size_bytes: int) -> None:
            writing.set()
            await add(recording, size_bytes)

        monkeypatch.setattr(trainings.store, "add_recording", adding)
        checked = Checked(Recording(np.zeros(16_000, np.int16), 16_000), -20.0, [], 1.0)
        file = tmp_path / "data" / "voxfleet.db"
        with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
            await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")  # the event log may be writing
            form = RecordingForm(transcript="hello")
            caller = asyncio.create_task(trainings.add_recording(training, form, checked))
            await writing.wait()
            caller.cancel()
            other.execute("COMMIT")
        await asyncio.wait({caller})
        (row,) = await trainings.store.recordings(training.id)
        assert caller.cancelled() and trainings.files(training.id).recording(row.id).is_file()


async def test_a_second_start_takes_nothing_from_the_first(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        trainings: Trainings = service.trainings
        id = await service.begin()
        assert (await service.send(id)).status_code == 201
        first, second = [await trainings.store.get(id) for _ in range(2)]
        await trainings.start(first)
        learnt = trainings.files(id).learnt
        learnt.mkdir(parents=True)
        with pytest.raises(ApiError, match="only one that waits"):
            await trainings.start(second)
        assert learnt.is_dir()


async def test_more_recordings_make_another_voice(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        trainings: Trainings = service.trainings
        id = await service.begin()
        assert (await service.send(id)).status_code == 201
        made = {"adapter_id": "a_1", "progress": {"step": 2}}
        assert await trainings.store.change(id, STILL, state="failed", **made)
        assert (await service.send(id)).status_code == 201
        row = await trainings.store.get(id)
        assert (row.adapter_id, row.progress) == (None, {})


async def test_a_recording_that_is_removed_takes_no_space(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        trainings: Trainings = service.trainings
        id = await service.begin()
        assert (await service.send(id)).status_code == 201
        row = await trainings.store.get(id)
        (recording,) = await trainings.store.recordings(id)
        assert row.size_bytes > 0
        await trainings.remove_recording(row, recording.id)
        assert (await trainings.store.get(id)).size_bytes == 0
