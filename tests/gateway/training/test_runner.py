"""What one training tells when its process cannot do what it was asked to."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from gateway.training.files import TrainingFiles
from gateway.training.process import TrainingProcess
from tests.gateway.training.test_requests import running


def refuse(files: TrainingFiles) -> int:
    """As a process does that has other options than the one before."""
    with files.journal.open("a") as journal:
        journal.write('{"state": "refused", "message": "another run", "outdated": true}\n')
    return 1


async def test_one_that_cannot_go_on_with_what_it_learnt_begins_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service, service.at() as http:
        training = await service.begin()
        assert (await service.send(training)).status_code == 201
        trainings = service.trainings
        files, store = trainings.files(training), trainings.store
        refusing = AsyncMock(ended=AsyncMock(side_effect=lambda seconds: refuse(files)))
        monkeypatch.setattr(TrainingProcess, "start", AsyncMock(return_value=refusing))
        assert (await http.post(f"/api/trainings/{training}/start")).status_code == 202
        files.journal.parent.mkdir(parents=True)
        files.journal.write_text('{"state": "validated", "step": 20, "loss": 1.5, "best": 20}\n')
        row = await trainings.begin(await store.get(training), files)
        await trainings.work(row, files)
        failed = (await http.get(f"/api/trainings/{training}")).json()["training"]
        assert (failed["state"], failed["error"]["code"]) == ("failed", "training_outdated")
        assert failed["progress"]["step"] == 20 and files.run.exists()
        assert (await http.post(f"/api/trainings/{training}/start")).status_code == 202
        assert not files.run.exists()
