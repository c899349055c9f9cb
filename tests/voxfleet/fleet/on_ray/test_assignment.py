"""What the controller in a cluster of Ray is told, and what a fleet file says of Ray."""

from __future__ import annotations

import stat
from importlib import util
from pathlib import Path

import pytest

from tests.voxfleet.fleet.files import written
from voxfleet.fleet.file import FleetFile, read_fleet_file
from voxfleet.fleet.file.ray import need_ray
from voxfleet.fleet.ray.assignment import Assignment, Folder
from voxfleet.settings import SettingsError

FILE = """
place: ray
workers:
  gpu: {model: openbmb/VoxCPM2, device: cuda, slots: 32, audio_seconds_per_second: 300}
  cpu: {model: bundled, audio_seconds_per_second: 6}
floors:
  - {workers: gpu, least: 4, from: "08:00", until: "20:00"}
ray: {workers: {gpu: {gpus: 2}}}
"""
HERE = "http://127.0.0.1:8006"


def assignment(file: FleetFile, **changes: object) -> Assignment:
    told = {"desk_urls": (HERE,), "gateway_urls": ("http://10.0.0.1:8006",), "settings": {}}
    return Assignment(file=file, **{**told, **changes})


def test_what_a_worker_asks_its_machine_for_follows_from_its_device(tmp_path: Path) -> None:
    specs = assignment(read_fleet_file(written(FILE, tmp_path))).specs()
    assert (specs["gpu"].device, specs["gpu"].share.gpus, specs["gpu"].share.cpus) == ("cuda", 2, 4)
    assert (specs["cpu"].device, specs["cpu"].share.gpus, specs["cpu"].share.cpus) == ("cpu", 0, 2)


def test_a_worker_over_several_gpus_asks_for_them_and_is_told(tmp_path: Path) -> None:
    text = FILE.replace("device: cuda,", "device: cuda, tensor_parallel_size: 4,").replace(
        "gpus: 2", "cpus: 8"
    )
    specs = assignment(read_fleet_file(written(text, tmp_path))).specs()
    assert (specs["gpu"].share.gpus, specs["gpu"].settings) == (
        4,
        (("VOXFLEET_WORKER_TENSOR_PARALLEL_SIZE", "4"),),
    )
    assert specs["cpu"].settings == ()


@pytest.mark.parametrize(
    ("change", "replaced"),
    [
        ({"slots": 8}, {"cpu"}),
        ({"version": "2"}, {"cpu"}),
        ({"tensor_parallel_size": 2}, {"cpu"}),
        ({"model": "synthetic"}, {"cpu"}),
        ({"least": 1, "most": 2, "cost_per_hour": 3}, set()),
    ],
)
def test_workers_are_replaced_when_they_would_be_started_otherwise(
    tmp_path: Path, change: dict[str, object], replaced: set[str]
) -> None:
    file = read_fleet_file(written(FILE, tmp_path))
    workers = {**file.workers, "cpu": file.workers["cpu"].model_copy(update=change)}
    before, after = (assignment(one).specs() for one in (file, file.model_copy(update={"workers": workers})))
    assert {kind for kind in before if before[kind].digest != after[kind].digest} == replaced


def test_another_gateway_or_other_settings_replace_them_too(tmp_path: Path) -> None:
    file = read_fleet_file(written(FILE, tmp_path))
    told = [
        assignment(file),
        assignment(file, gateway_urls=("http://10.0.0.1:8006", "http://10.0.0.1:8007")),
        assignment(file, settings={"VOXFLEET_WORKER_STEP_MS": "20"}),
    ]
    assert len({one.specs()["cpu"].digest for one in told}) == 3


def test_an_assignment_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    folder, told = Folder(tmp_path / "ray" / "voxfleet"), assignment(read_fleet_file(written(FILE, tmp_path)))
    folder.keep(told)
    folder.keep_secrets("an-admin-token-of-ours", "a-worker-secret-of-ours")
    folder.keep_scaled({"cpu": 3})
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.path.iterdir()} == {0o600}
    again = Folder(folder.path)
    assert again.assignment() == told
    assert (again.admin_token(), again.worker_secret()) == (
        "an-admin-token-of-ours",
        "a-worker-secret-of-ours",
    )
    assert again.scaled() == {"cpu": 3}
    assert "a-worker-secret-of-ours" not in (folder.path / "assignment.json").read_text()
    folder.remove()
    assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("ray: {workers: {cellar: {gpus: 1}}}", "ray.workers: there is no 'cellar' under workers"),
        (
            "ray: {workers: {cpu: {gpus: 17}}}",
            "ray.workers.cpu.gpus: Input should be less than or equal to 16",
        ),
        ("ray: {address: 'http://head:6379'}", "ray.address"),
        ("ray: {namespace: 'Two Words'}", "ray.namespace"),
        ("place: mars", "place: Input should be 'local' or 'ray'"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, wrong: str, message: str) -> None:
    text = f"workers:\n  cpu: {{model: bundled, audio_seconds_per_second: 6}}\n{wrong}\n"
    with pytest.raises(SettingsError, match=message.replace(".", r"\.")):
        read_fleet_file(written(text, tmp_path))


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voxfleet.fleet.file.ray.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match="VOXFLEET_EXTRAS=ray"):
        need_ray()
    assert util.find_spec("voxfleet.fleet.ray") is not None
