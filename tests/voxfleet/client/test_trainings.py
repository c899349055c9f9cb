"""Trainings by the Python client against a real service whose worker takes adapters.

How one becomes a voice: `tests/gateway/training/test_training.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.adapters.uploads import WORKER
from tests.gateway.stages.processes import GatewayProcess, started_fleets
from tests.gateway.training.conftest import CONSENT, ENOUGH, clip, write_recordings
from tests.models.finetuning.conftest import WORDS
from tests.voxfleet.client.alice import KEY, serves_alice
from voxfleet.client import AsyncClient, InvalidRequestError, SpeechError, UnreachableError
from voxfleet.client import trainings as client_trainings
from voxfleet.client.errors import CapacityError


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    settings = serves_alice(tmp_path_factory.mktemp("data"))
    settings |= {"training_niceness": 1, "training_base": WORKER["model"]}
    with started_fleets() as start:
        edge, _ = start(1, gateway=settings, **WORKER)
        yield edge


async def test_a_recording_that_is_refused_is_named_and_nothing_stays(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    folder = write_recordings(tmp_path / "recordings")
    async with AsyncClient(gateway.url, api_key=KEY) as client:
        (folder / "01.wav").write_bytes(clip(seconds=0.5))
        with pytest.raises(InvalidRequestError, match="less than 2 s") as caught:
            await client.trainings.train("Ben", folder, **CONSENT)
        assert (caught.value.code, caught.value.__notes__) == ("audio_too_short", ["of 01.wav"])
        (folder / "00.txt").unlink()
        with pytest.raises(FileNotFoundError, match=r"00\.txt"):
            await client.trainings.train("Ben", folder, **CONSENT)
        assert await client.trainings.list() == []


@pytest.mark.timeout(240)
async def test_a_training_is_filled_by_hand_cancelled_and_goes_on(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url, api_key=KEY) as client:
        trainings = client.trainings
        id = (await trainings.create("Carla", steps=5000, **CONSENT))["id"]
        found = [await trainings.add_recording(id, clip(n), WORDS * 2) for n in range(ENOUGH + 1)]
        assert [one["checks"] for one in found]
        await trainings.delete_recording(id, found[0]["id"])
        assert (await trainings.wait(id))["state"] == "collecting"
        await trainings.start(id)
        async for training in trainings.follow(id, every_seconds=0.05):
            if training["state"] == "running":
                break
        assert (await trainings.cancel(id))["state"] == "cancelled"
        assert len((await trainings.wait(id))["recordings"]) == ENOUGH
        assert (await trainings.start(id))["state"] in ("queued", "running")
        await trainings.delete(id)
        with pytest.raises(InvalidRequestError, match="no such training"):
            await trainings.get(id)


class Answers:
    """A client's `call`: one answer after the other, the last for good."""

    def __init__(self, *answers: str | SpeechError) -> None:
        self.answers = list(answers)

    async def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, SpeechError):
            raise answer
        return httpx.Response(200, json={"training": {"state": answer}})


AWAY = UnreachableError("cannot reach it")


async def test_a_service_that_is_restarted_ends_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = CapacityError("busy", retry_after_seconds=0.01)
    trainings = client_trainings.AsyncTrainings(Answers("running", AWAY, busy, "running", AWAY, "complete"))
    followed = [training["state"] async for training in trainings.follow("t", every_seconds=0.001)]
    assert followed == ["running", "complete"]
    monkeypatch.setattr(client_trainings, "PATIENCE_SECONDS", 0.05)
    for answers in ((AWAY,), ("running", AWAY), ("running", InvalidRequestError("it is gone"), "complete")):
        with pytest.raises(SpeechError, match=r"cannot reach|gone"):
            await client_trainings.AsyncTrainings(Answers(*answers)).wait("t", every_seconds=0.001)
