"""A recording and its row are there together."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from gateway.database import TrainingRecording
from gateway.training.request import RecordingForm
from gateway.training.service import Trainings
from gateway.voices.recordings.checks import Checked
from gateway.voices.recordings.decoding import Recording
from tests.gateway.training.test_requests import running


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
        with closing(sqlite3.connect(tmp_path / "data" / "voxfleet.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            form = RecordingForm(transcript="hello")
            caller = asyncio.create_task(trainings.add_recording(training, form, checked))
            await writing.wait()
            caller.cancel()
            other.execute("COMMIT")
        await asyncio.wait({caller})
        (row,) = await trainings.store.recordings(training.id)
        assert caller.cancelled() and trainings.files(training.id).recording(row.id).is_file()
