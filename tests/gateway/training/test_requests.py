"""What may be asked of trainings: bad uploads are refused, limits hold, odd names lead nowhere (S9)."""

from __future__ import annotations

import io
import os
import shutil
import time
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gateway.database import Training, TrainingRecording
from gateway.database.present import Present
from gateway.errors import ApiError
from gateway.settings import GatewaySettings
from gateway.slots.requirement import Requirement
from gateway.tending import failures, orphans
from gateway.training import outcome
from gateway.training.files import TrainingFiles, new_training_id
from gateway.training.process import absolute, command_of, environment_of
from gateway.training.progress import progress_of
from gateway.training.request import RecordingForm
from tests.gateway.audio.files import noisy_speech, wav
from tests.gateway.stages.processes import check_error
from tests.gateway.training.conftest import clip
from tests.gateway.training.stage import TRAINING, running

RATE = 16_000


def silence(seconds: float) -> bytes:
    return wav(np.zeros(round(seconds * RATE)), RATE)


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../../tmp/a.wav", bytes(10 << 20))
    return file.getvalue()


@pytest.mark.parametrize(
    ("audio", "fields", "code", "param"),
    [
        (None, {"transcript": ""}, "missing_field", "transcript"),
        (None, {"transcript": "..., -"}, "invalid_value", "transcript"),
        (None, {"transcript": "a" * 2001}, "invalid_value", "transcript"),
        (None, {"transcript": "a\x00b"}, "invalid_value", "transcript"),
        (None, {"name": "a" * 81}, "invalid_value", "name"),
        (None, {"path": "/etc/passwd"}, "unknown_field", "path"),
        (silence(3), {}, "audio_silent", "audio"),
        (clip(seconds=1.0), {}, "audio_too_short", "audio"),
        (clip(seconds=31.0), {}, "audio_too_long", "audio"),
        (clip(seconds=61.0), {}, "audio_too_long", "audio"),
        (b"MZ" + bytes(1000), {}, "audio_format", "audio"),
        (bomb(), {}, "audio_format", "audio"),
        (clip()[:30], {}, "audio_unreadable", "audio"),
    ],
    ids=[
        *("no transcript", "no words", "long transcript", "control character", "long name", "a path"),
        *("silent", "short", "long", "very long", "a program", "a bomb", "cut"),
    ],
)
async def test_a_recording_of_no_use_is_refused_by_name(
    tmp_path: Path, audio: bytes | None, fields: dict[str, str], code: str, param: str
) -> None:
    async with running(tmp_path) as service:
        training = await service.begin()
        error = check_error(await service.send(training, audio, **fields), 422)
        assert (error["code"], error["param"]) == (code, param)
        assert list((service.trainings.folder / training / "recordings").iterdir()) == []


async def test_what_a_training_does_not_do_is_not_advised(tmp_path: Path) -> None:
    """Noise is taken out of a voice's recording, not of a training's."""
    async with running(tmp_path) as service:
        sent = await service.send(await service.begin(), wav(noisy_speech()))
        said = {check["code"]: check["message"] for check in sent.json()["recording"]["checks"]}
        assert said["noise"].endswith("Record in a quiet room")


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"name": ""}, "invalid_value", "name"),
        ({"consent_by": None}, "invalid_value", "consent_by"),
        ({"consent_statement": " "}, "invalid_value", "consent_statement"),
        ({"steps": 0}, "invalid_value", "steps"),
        ({"steps": 10**9}, "invalid_value", "steps"),
        ({"base": "/etc"}, "unknown_field", "base"),
    ],
)
async def test_a_training_needs_a_name_and_a_consent(
    tmp_path: Path, fields: dict[str, Any], code: str, param: str
) -> None:
    async with running(tmp_path) as service, service.at() as http:
        error = check_error(await http.post("/api/trainings", json={**TRAINING, **fields}), 422)
        assert (error["code"], error["param"]) == (code, param)
        bare = {name: value for name, value in TRAINING.items() if name != "consent_statement"}
        check_error(await http.post("/api/trainings", json=bare), 422)


async def test_numbers_and_length_are_bounded_and_what_is_removed_makes_room(tmp_path: Path) -> None:
    bounds = {"max_trainings_per_owner": 1, "max_training_recordings": 2, "max_training_minutes": 0.12}
    async with running(tmp_path, **bounds) as service:
        training = await service.begin()
        async with service.at() as http:
            refused = check_error(await http.post("/api/trainings", json=TRAINING), 429)
            assert refused["code"] == "too_many_trainings"
            first = await service.send(training)
            assert first.status_code == 201 and (await service.send(training)).status_code == 201
            refused = check_error(await service.send(training), 413)
            assert refused["code"] == "too_many_recordings"
            path = f"/api/trainings/{training}/recordings/{first.json()['recording']['id']}"
            assert (await http.delete(path)).status_code == 204
            check_error(await http.delete(path), 404)
            assert check_error(await service.send(training, clip(seconds=6.0)), 413)
            told = (await http.get(f"/api/trainings/{training}")).json()["training"]
        assert len(told["recordings"]) == 1 == len(list((tmp_path / "data").rglob("*.wav")))
        assert told["audio_seconds"] == pytest.approx(2.7, abs=0.1)


def test_a_recording_is_called_what_its_file_is() -> None:
    """Nobody asks for it by that name, so that it may look like another's."""
    assert RecordingForm(transcript="hello", name="\u0410da").name == "\u0410da"


async def test_names_of_clients_lead_to_no_path(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        training = await service.begin(name="../../evil")
        assert (await service.send(training, name="../../../etc/passwd")).status_code == 201
        async with service.at() as http:
            for odd in (
                "..%2f..%2fvoxfleet.db",
                "best-1%00",
                "best-1.wav",
                "step_1-1",
                "9" * 99 + "-1",
                "best-1",
            ):
                check_error(await http.get(f"/api/trainings/{training}/samples/{odd}"), 404)
            for odd in ("..", "%2e%2e%2fvoices", "t_" + "x" * 22, "t_../../x"):
                check_error(await http.get(f"/api/trainings/{odd}/samples/best-1"), 404)
            check_error(await http.delete(f"/api/trainings/{training}/recordings/..%2ftrain"), 404)
        [folder] = service.trainings.folder.iterdir()
        assert folder.name == training
        with pytest.raises(ValueError, match="not the id"):
            service.trainings.files("../x")
        with pytest.raises(ValueError, match="not the id"):
            service.trainings.files(training).recording("../x")


async def test_where_nothing_is_trained_the_answer_says_so(tmp_path: Path) -> None:
    for off in ({"training_enabled": False}, {"training_base": None}):
        async with running(tmp_path, **off) as service, service.at() as http:
            listed = (await http.get("/api/trainings")).json()
            assert (listed["enabled"], listed["trainings"]) == (False, [])
            refused = check_error(await http.post("/api/trainings", json=TRAINING), 503)
            assert refused["code"] == "training_off"


async def test_a_training_without_recordings_does_not_start(tmp_path: Path) -> None:
    async with running(tmp_path) as service, service.at() as http:
        training = await service.begin()
        assert (
            check_error(await http.post(f"/api/trainings/{training}/start"), 422)["code"] == "no_recordings"
        )
        check_error(await http.post(f"/api/trainings/{training}/cancel"), 409)


async def test_nothing_is_trained_that_no_worker_could_speak_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Plain:
        """A worker that takes no adapters."""

        serving, pending, model = True, False, object()

        @staticmethod
        def offers(requirement: Requirement) -> bool:
            return not requirement.adapters

    async with running(tmp_path) as service:
        training = await service.begin()
        assert (await service.send(training)).status_code == 201
        async with service.at() as http:
            with monkeypatch.context() as patch:
                patch.setattr(service.gateway.pool, "workers", {"w0": Plain()})
                answer = await http.post(f"/api/trainings/{training}/start")
            assert check_error(answer, 422)["code"] == "adapters_unsupported"
            assert (await http.get(f"/api/trainings/{training}")).json()["training"]["state"] == "collecting"


async def test_an_administrator_sees_all_and_a_stranger_none(tmp_path: Path) -> None:
    token = "administrators-token"
    async with running(tmp_path, admin_token=token) as service:
        training = await service.begin()
        async with service.at("10.0.0.2") as stranger:
            check_error(await stranger.get(f"/api/trainings/{training}"), 404)
            check_error(await stranger.get("/api/trainings", params={"all": True}), 401)
            admin = {"X-Admin-Token": token}
            listed = await stranger.get("/api/trainings", params={"all": True}, headers=admin)
            assert [one["id"] for one in listed.json()["trainings"]] == [training]
            assert (await stranger.delete(f"/api/trainings/{training}", headers=admin)).status_code == 204
        assert list(service.trainings.folder.iterdir()) == []


async def test_what_is_abandoned_or_without_a_row_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orphans, "ORPHAN_SECONDS", -1)
    async with running(tmp_path) as service:
        old, fresh = [await service.begin() for _ in range(2)]
        service.trainings.files(new_training_id()).create(service.gateway.disk)
        async with service.gateway.database.transaction() as rows:
            row = await rows.get(Training, old)
            row.used_at = datetime.now(UTC) - timedelta(days=8)
        await service.trainings.sweep()
        assert [path.name for path in service.trainings.folder.iterdir()] == [fresh]
        assert [row.id for row in await service.trainings.store.list(None)] == [fresh]
        service.gateway.database.present = Present(lambda: time.time() + 8 * 24 * 3600)
        await service.trainings.sweep()
        assert await service.trainings.store.list(None) == []


async def test_a_training_whose_files_are_gone_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "MISSED_SECONDS", 0)
    async with running(tmp_path) as service:
        training = await service.begin()
        shutil.rmtree(service.trainings.files(training).folder)
        store = service.trainings.store
        await store.change(training, ("collecting",), state="queued")
        assert not (await service.trainings.to_lock(await store.get(training))).lock()
        ended = await store.get(training)
        assert (ended.state, ended.error_code) == ("failed", "files_lost")


async def test_what_was_abandoned_while_the_clock_was_ahead_goes_too(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        training = await service.begin()
        for days in (-1000, -1000 + 8):
            assert [row.id for row in await service.trainings.store.list(None)] == [training]
            service.gateway.database.present = Present(lambda days=days: time.time() + days * 24 * 3600)
            await service.trainings.sweep()
        assert await service.trainings.store.list(None) == []


def test_a_process_gets_no_secret_and_the_gpu_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = {"PATH": "/bin", "VOXFLEET_ADMIN_TOKEN": "secret", "CUDA_VISIBLE_DEVICES": "4,5"}
    environment = environment_of(ours, "cuda:1")
    assert environment["CUDA_VISIBLE_DEVICES"] == "5" and "secret" not in environment.values()
    assert environment_of({}, "cuda:1")["CUDA_VISIBLE_DEVICES"] == "1"
    assert "CUDA_VISIBLE_DEVICES" not in environment_of({}, "cpu")
    files = TrainingFiles(tmp_path, new_training_id())
    command = command_of(files, GatewaySettings(training_base="bundled", training_device="cuda:1"), 7)
    given = [command[command.index(name) + 1] for name in ("--base", "--device", "--steps", "--niceness")]
    assert given == ["bundled", "cuda", "7", "10"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    bases = [absolute(base) for base in ("./mine", "bundled", "openbmb/VoxCPM2")]
    assert bases == [str(tmp_path / "mine"), "bundled", "openbmb/VoxCPM2"]
    with pytest.raises(ValueError, match="training_device"):
        GatewaySettings(training_device="cuda:1; rm -rf /")


def test_how_much_is_encoded_is_told_and_whether_there_is_a_cpu_for_it() -> None:
    said = [
        {"state": "loading", "base": "x"},
        {"state": "examining", "share": 0.5, "cpu_share": 0.111},
        {"state": "encoding", "share": 0.256, "cpu_share": 0.222},
        {"state": "encoded", "recordings": 9, "seconds_of_speech": 40.0},
    ]
    told = [progress_of(said[:count]).told([], {}) for count in range(1, 5)]
    assert [one["share"] for one in told] == [None, None, 0.26, None]
    assert [one["cpu_share"] for one in told] == [None, 0.11, 0.22, 0.22]
    assert {one["stage"] for one in told} == {"preparing"}


def test_the_journal_of_a_run_that_was_cut_and_went_on_is_one_progress() -> None:
    first = [
        {"state": "loading", "base": "x"},
        {
            "state": "found",
            "kind": "quiet",
            "files": ["r_1.wav"],
            "message": "1 recording very quiet (r_1.wav: 3 dB)",
        },
        {"state": "encoded", "recordings": 9, "seconds_of_speech": 40.04},
        {"state": "validated", "step": 0, "loss": 2.0, "flow": 1.0, "stop": 1.0, "best": 0},
        {"state": "training", "step": 20, "steps": 60, "seconds_left": 80.26}
        | {"seconds_a_step": 2.0065, "cpu_share": 0.333},
        {"state": "validated", "step": 20, "loss": 1.5, "best": 20},
        {"state": "sampled", "folder": "step_0000020", "clips": 3},
    ]
    progress = progress_of(first)
    assert (progress.stage, progress.step, progress.seconds_left) == ("training", 20, 80.3)
    assert (progress.seconds_per_step, progress.cpu_share) == (2.01, 0.33)
    again = progress_of([*first, *first[:3], {"state": "resumed", "step": 20}, *first[4:5], {"unknown": 1}])
    assert again == progress
    told = again.told([], {"r_1": "a.wav"})
    assert told["findings"] == [
        {"kind": "quiet", "message": "1 recording very quiet (a.wav: 3 dB)", "recordings": ["r_1"]}
    ]
    assert told["losses"] == [[0, 2.0], [20, 1.5]] and told["first_loss"] == 2.0 and told["best_loss"] == 1.5
    refused = {"state": "refused", "message": "too little", "outdated": False}
    assert progress_of([*first, refused]).refusal == "too little"
    assert not progress_of([*first, refused]).is_outdated
    assert progress_of([*first, refused | {"outdated": True}]).is_outdated
    assert not progress_of([refused | {"outdated": True}, *first]).is_outdated
    assert progress_of([*first, {"state": "written", "step": 20, "over": True}]).is_written
    assert not progress_of([*first, {"state": "written", "step": 20, "over": False}]).is_written


async def test_a_voice_gets_a_name_that_nobody_has(tmp_path: Path) -> None:
    taken = {"Anna", "Anna 2"}
    path = tmp_path / "reference.wav"
    path.write_bytes(b"RIFF")

    async def make(name: str, file: int) -> str:
        assert os.pread(file, 10, 0) == b"RIFF"
        if name in taken:
            raise ApiError(409, "name_taken", "taken")
        return f"v_1 of {name}"

    assert await outcome._under_a_free_name("Anna", path, make) == "v_1 of Anna 3"
    taken |= {"a" * 80}
    assert await outcome._under_a_free_name("a" * 80, path, make) == f"v_1 of {'a' * 78} 2"


def test_the_reference_is_the_best_recording() -> None:
    found = [(8.0, "warning"), (3.0, "info"), (10.0, "info"), (15.0, "info")]
    rows = [TrainingRecording(audio_seconds=length, checks=[{"severity": each}]) for length, each in found]
    assert outcome.reference_of(rows) is rows[2]
