"""What one training tells when its process cannot do what it was asked to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from gateway.tending.failures import OfAnotherBuild
from gateway.tending.rows import OPEN
from gateway.training.files import TrainingFiles
from gateway.training.outcome import make_adapter, make_voice
from gateway.training.process import TrainingProcess
from tests.gateway.training.stage import Service, made, running


def refuse(files: TrainingFiles) -> int:
    """As a process does that has other options than the one before."""
    with files.journal.open("a") as journal:
        journal.write('{"state": "refused", "message": "another run", "outdated": true}\n')
    return 1


async def learnt_elsewhere(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, TrainingFiles, AsyncMock]:
    """A training that began with other options than ours: its id and files, and our process."""
    training = await service.begin()
    assert (await service.send(training)).status_code == 201
    files = service.trainings.files(training)
    refusing = AsyncMock(ended=AsyncMock(side_effect=lambda seconds: refuse(files)))
    monkeypatch.setattr(TrainingProcess, "start", AsyncMock(return_value=refusing))
    async with service.at() as http:
        assert (await http.post(f"/api/trainings/{training}/start")).status_code == 202
    await service.trainings.store.change(training, OPEN, progress={"step": 20})
    files.journal.parent.mkdir(parents=True)
    files.journal.write_text('{"state": "validated", "step": 20, "loss": 1.5, "best": 20}\n')
    return training, files, refusing


async def test_one_that_cannot_go_on_with_what_it_learnt_begins_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service, service.at() as http:
        trainings, store = service.trainings, service.trainings.store
        training, files, refusing = await learnt_elsewhere(service, monkeypatch)
        row = await trainings.begin(await store.get(training), files)
        await trainings.work(row, files)
        failed = (await http.get(f"/api/trainings/{training}")).json()["training"]
        assert (failed["state"], failed["error"]["code"]) == ("failed", "training_outdated")
        assert failed["progress"]["step"] == 20 and files.run.exists()
        assert (await http.post(f"/api/trainings/{training}/start")).status_code == 202
        found: list[bool] = []
        refusing.ended.side_effect = lambda seconds: found.append(files.run.exists()) or 1
        await trainings.work(await trainings.begin(await store.get(training), files), files)
        assert found == [False]


async def test_while_gateways_are_upgraded_what_another_build_learnt_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service:
        trainings, store = service.trainings, service.trainings.store
        builds = service.gateway.operations.history.builds
        training, files, _ = await learnt_elsewhere(service, monkeypatch)
        monkeypatch.setattr(builds, "_counts", Counter(["0.1.0", "0.2.0"]))
        row = await trainings.begin(await store.get(training), files)
        with pytest.raises(OfAnotherBuild):
            await trainings.work(row, files)
        row = await store.get(training)
        assert (row.state, row.progress["step"]) == ("running", 20), "for who has that build"
        monkeypatch.setattr(builds, "_counts", Counter(["0.1.0"]))
        await trainings.work(await trainings.begin(row, files), files)
        assert (await store.get(training)).error_code == "training_outdated", "nobody else is there"


async def test_what_was_made_of_a_training_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway is killed before the row names the adapter, or the voice."""
    async with running(tmp_path) as service:
        row, voice = await made(service, monkeypatch)
        trainings, gateway = service.trainings, service.gateway
        files, recordings = trainings.files(row.id), await trainings.store.recordings(row.id)
        forgetful = await trainings.store.get(row.id)
        assert await make_adapter(gateway, forgetful, files) == row.adapter_id
        assert await make_voice(gateway, row, files, recordings) == voice
        (adapter,) = await gateway.adapters.visible_to(row.owner)
        assert (adapter.id, adapter.name) == (row.adapter_id, "Anna")
        files.weights.write_bytes(b"others")
        assert await make_adapter(gateway, forgetful, files) != row.adapter_id
