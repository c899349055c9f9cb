"""Trainings of a real gateway: recordings become a voice whatever happens; cancelled, they end (S14)."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
import soundfile

from tests.forks import REPOSITORY
from tests.gateway.adapters.uploads import WORKER
from tests.gateway.callers.owners import API_KEYS, KEYS, client
from tests.gateway.stages.processes import GatewayProcess, StartFleet, check_error, started_fleets
from tests.gateway.training.conftest import (
    CONSENT,
    ENOUGH,
    begin,
    clip,
    fill,
    processes_of,
    send,
    told,
    write_recordings,
)
from tests.worker.process import wait_until
from voxfleet.client import Client


def session_of(process: int) -> str:
    """What Linux says of the priority of a process's session; where it has none, niceness is all there is."""
    file = Path(f"/proc/{process}/autogroup")
    return file.read_text() if file.exists() else "nice 1"


ROUTES = [
    ("GET", ""), ("DELETE", ""), ("POST", "/start"), ("POST", "/cancel"), ("GET", "/samples/best-1"),
    ("POST", "/recordings"), ("DELETE", "/recordings/r_0000000000000000000000"),
]  # fmt: skip


class Stage:
    """A worker that takes adapters, and gateways one after the other."""

    def __init__(self, start: StartFleet, data_dir: Path) -> None:
        self.settings = {
            "api_keys": API_KEYS, "anonymous": False, "data_dir": data_dir, "training_base": WORKER["model"],
            "training_niceness": 1,
        }  # fmt: skip
        self._start = start
        self.gateway, self._workers = start(1, gateway=self.settings, **WORKER)
        self.folder = data_dir / "trainings"

    def restart(self) -> GatewayProcess:
        """The gateway dies as if its machine did, and another one comes."""
        self.gateway.kill()
        self.gateway = self._start.gateway(self._workers, **self.settings).wait_until_serving(1)
        return self.gateway

    def http(self, name: str) -> httpx.Client:
        return client(self.gateway, KEYS[name])

    def python(self, name: str) -> Client:
        """Ours."""
        return Client(self.gateway.url, api_key=KEYS[name])


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with started_fleets() as start:
        stage = Stage(start, tmp_path)
        yield stage
        assert not stage.gateway.defects()


def until(http: httpx.Client, training: str, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def poll() -> dict[str, Any] | None:
        found[:] = [told(http, training)]
        return found[0] if reached(found[0]) else None

    return wait_until(poll, lambda: f"still {found}")


def steps_of(training: dict[str, Any]) -> int:
    return (training["progress"] or {}).get("step", 0)


def started(http: httpx.Client, **fields: Any) -> str:
    """The id of a training that runs."""
    training = begin(http, **fields)
    fill(http, training)
    assert http.post(f"/api/trainings/{training}/start").status_code == 202
    return training


@pytest.mark.timeout(480)
def test_recordings_become_a_voice_and_what_cannot_be_trained_on_says_why(
    stage: Stage, tmp_path: Path
) -> None:
    with stage.http("ann") as ann, stage.http("bob") as bob, stage.python("ann") as client:
        trainings = client.trainings
        consent = {**CONSENT, "consent_statement": trainings.consent_statement()}
        recordings = write_recordings(tmp_path / "recordings")
        begun = trainings.train("Anna", recordings, language="en", steps=2, **consent)
        training = begun["id"]
        assert begun["state"] in ("queued", "running") and begun["recordings"] == 2
        failed = trainings.wait(training, every_seconds=0.2)
        assert (failed["state"], failed["error"]["code"]) == ("failed", "recordings_unusable")
        assert "at least 30 s are needed" in failed["error"]["message"]
        assert str(REPOSITORY) not in str(failed) and str(stage.folder) not in str(failed)
        fill(ann, training, ENOUGH - 2)
        assert send(ann, training, clip(seconds=4.0), name="long.wav").status_code == 201
        trainings.start(training)
        followed = list(trainings.follow(training, every_seconds=0.1))
        assert all(before != after for before, after in pairwise(followed))
        ended = followed[-1]
        assert ended["state"] == "complete" and ended["error"] is None, ended
        assert trainings.list()[0]["voice"] == ended["voice"]
        assert [one["name"] for one in ended["recordings"][:2]] == ["00.wav", "01.wav"]
        progress = ended["progress"]
        assert (progress["stage"], progress["recordings_used"]) == ("finishing", ENOUGH)
        assert [step for step, _ in progress["losses"]] == [0, 2]
        findings = {finding["kind"]: finding for finding in progress["findings"]}
        assert findings.keys() == {"long", "noisy", "little"}
        assert findings["long"]["recordings"] == [ended["recordings"][-1]["id"]]
        assert "long.wav: 4 s, the limit is 3 s" in findings["long"]["message"]
        assert {sample["step"] for sample in progress["samples"]} == {None}
        for sample in progress["samples"]:
            assert sample["text"].startswith("hello world")
            audio = ann.get(f"/api/trainings/{training}/samples/{sample['id']}")
            assert audio.headers["content-type"] == "audio/wav"
            assert len(soundfile.read(io.BytesIO(audio.content))[0]) > 0
            assert trainings.sample(training, sample["id"]) == audio.content
        voice = ann.get(f"/api/voices/{ended['voice']}").json()
        assert (voice["name"], voice["language"]) == ("Anna", "en")
        assert voice["parameters"] == {"adapter": ended["adapter"]}
        assert voice["consent"]["by"] == "Ann Example"
        assert client.speak("hello", voice=ended["voice"], max_seconds=0.3).audio
        spoken = bob.post("/tts", json={"text": "hello", "voice": "Anna", "max_seconds": 0.3})
        assert spoken.status_code == 200, spoken.text
        assert not (stage.folder / training / "run" / "voice" / "work").exists()
        for method, path in ROUTES:
            code = check_error(bob.request(method, f"/api/trainings/{training}{path}"), 404)["code"]
            assert code == "unknown_training", path
        assert bob.get("/api/trainings").json()["trainings"] == []
        check_error(ann.post(f"/api/trainings/{training}/start"), 409)
        trainings.delete(training)
        assert not (stage.folder / training).exists()
        assert ann.get(f"/api/voices/{ended['voice']}").status_code == 200


@pytest.mark.timeout(480)
def test_a_training_goes_on_after_its_gateway_died_and_ends_when_it_is_told_to(stage: Stage) -> None:
    with stage.http("ann") as ann:
        training = started(ann, steps=5000)
        reached = steps_of(until(ann, training, lambda one: steps_of(one) >= 20))
        folder = stage.folder / training
        [process] = processes_of(folder)
        assert os.getpriority(os.PRIO_PROCESS, process) == min(os.nice(0) + 1, 19)
        assert "nice 1" in session_of(process)
        check_error(ann.delete(f"/api/trainings/{training}/recordings/r_{'0' * 22}"), 409)
    stage.restart()
    with stage.http("ann") as ann:
        journal = folder / "run" / "voice" / "work" / "progress.jsonl"
        wait_until(lambda: '"state": "resumed"' in journal.read_text() or None, lambda: journal.read_text())
        assert steps_of(until(ann, training, lambda one: one["state"] == "running")) >= reached
        [another] = processes_of(folder)
        assert another != process
        answer = ann.post(f"/api/trainings/{training}/cancel")
        assert answer.json()["training"]["state"] == "cancelled" and processes_of(folder) == []
        check_error(ann.post(f"/api/trainings/{training}/cancel"), 409)
        assert ann.post(f"/api/trainings/{training}/start").status_code == 202
        wait_until(lambda: processes_of(folder) or None, lambda: "it does not go on")
        assert ann.delete(f"/api/trainings/{training}").status_code == 204
        assert processes_of(folder) == [] and not folder.exists()
        check_error(ann.get(f"/api/trainings/{training}"), 404)
