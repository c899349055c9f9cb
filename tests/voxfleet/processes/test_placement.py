"""Which worker gets which device, which ports are taken, and what counts as a model."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from voxfleet import model_source
from voxfleet.model_source import ModelMissingError, check_model
from voxfleet.processes import ports
from voxfleet.processes.devices import RANKS_VARIABLE, DeviceError, Placement, name_gpus, place_workers
from voxfleet.serving import serve
from voxfleet.settings import ServeSettings

CHECKPOINT = Path(__file__).parents[2] / "parity" / "tiny_v2"

LOOPBACK = "127.0.0.1"


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


def test_each_gpu_gets_a_worker_that_sees_it_alone() -> None:
    assert place_workers("auto", "auto", ["2", "3"]) == [
        Placement("cuda", {"CUDA_VISIBLE_DEVICES": "2"}),
        Placement("cuda", {"CUDA_VISIBLE_DEVICES": "3"}),
    ]


def test_more_workers_than_gpus_share_them_evenly() -> None:
    placements = place_workers(3, "cuda", ["0", "1"])
    assert [placement.environment["CUDA_VISIBLE_DEVICES"] for placement in placements] == ["0", "1", "0"]


def test_without_a_gpu_there_is_one_worker_on_the_cpu() -> None:
    assert place_workers("auto", "auto", []) == [Placement("cpu")]


def test_workers_on_the_cpu_are_told_how_many_share_it() -> None:
    sharing = Placement("cpu", {"VOXFLEET_WORKER_WORKERS_ON_MACHINE": "3"})
    assert place_workers(3, "auto", []) == [sharing] * 3
    assert place_workers(3, "cpu", ["0"]) == [sharing] * 3


def test_cuda_without_a_gpu_is_refused() -> None:
    with pytest.raises(DeviceError, match="no CUDA device"):
        place_workers("auto", "cuda", [])


@pytest.mark.parametrize(
    ("count", "visible", "expected"),
    [
        (2, "", ["0", "1"]),
        (2, "2, 3", ["2", "3"]),
        (1, "GPU-8f6a, GPU-91bc", ["GPU-8f6a"]),
        (0, "-1", []),
        (0, "", []),
    ],
)
def test_gpus_are_named_as_the_user_named_them(count: int, visible: str, expected: list[str]) -> None:
    assert name_gpus(count, visible) == expected


def test_a_taken_port_is_refused_by_number(taken_port: int) -> None:
    with pytest.raises(ports.PortError, match=str(taken_port)):
        ports.ensure_free(LOOPBACK, taken_port)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ports.PortError, match=r"no-such-host\.invalid"):
        ports.ensure_free("no-such-host.invalid", 8006)


def test_taken_ports_are_stepped_over(taken_port: int) -> None:
    found = [port.number for port in ports.hold_free(LOOPBACK, taken_port, 2)]
    assert len(set(found)) == 2
    assert all(port > taken_port for port in found)


def test_a_port_that_is_held_is_left_to_its_server() -> None:
    """It has not begun to listen, or starts again."""
    (held,) = ports.hold_free(LOOPBACK, ports.any_free(LOOPBACK), 1)
    with socket.create_server((LOOPBACK, held.number)):
        pass
    (other,) = ports.hold_free(LOOPBACK, held.number, 1)
    assert other.number > held.number
    for port in (held, other):
        port.release()
    ports.HeldPort(LOOPBACK, held.number).release()


def test_a_port_that_was_chosen_is_not_chosen_again_before_its_server_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = ports.any_free(LOOPBACK)
    numbers = iter([chosen, *range(20_000, 20_090)])
    monkeypatch.setattr(ports.random, "randrange", lambda *bounds: next(numbers))
    assert ports.any_free(LOOPBACK) != chosen


def test_two_services_that_start_at_once_give_their_workers_ports_of_their_own() -> None:
    plans = [serve.make_plan(ServeSettings(port=0, workers=2, model="synthetic")) for _ in range(2)]
    assert len({worker.port for plan in plans for worker in plan.workers}) == 4


def test_running_out_of_ports_is_an_error() -> None:
    with pytest.raises(ports.PortError, match="are needed"):
        ports.hold_free(LOOPBACK, 65530, 20)


def test_a_plan_takes_free_ports_and_the_model_of_the_worker_section(tmp_path: Path) -> None:
    config = tmp_path / "fleet.yaml"
    config.write_text("worker: {model: synthetic}", encoding="utf-8")
    plan = serve.make_plan(ServeSettings(port=0, workers=2), config)
    assert plan.port > 0
    assert [worker.model for worker in plan.workers] == ["synthetic"] * 2
    assert len({worker.port for worker in plan.workers}) == 2


def test_what_is_served_is_what_is_trained_unless_the_settings_name_it(tmp_path: Path) -> None:
    config = tmp_path / "fleet.yaml"
    found = {}
    other = "gateway: {training_base: other}"
    for model, named in ((CHECKPOINT, ""), (CHECKPOINT, other), ("synthetic", "")):
        config.write_text(f"worker: {{model: {model}}}\n{named}", encoding="utf-8")
        found[model, named] = dict(serve.make_plan(ServeSettings(port=0), config).gateway_environment)
    assert list(found.values()) == [{"VOXFLEET_TRAINING_BASE": str(CHECKPOINT)}, {}, {}]


def test_a_worker_section_for_machines_of_their_own_may_leave_the_secret_to_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VOXFLEET_WORKER_SECRET", raising=False)
    config = tmp_path / "fleet.yaml"
    config.write_text("worker: {host: 0.0.0.0, model: synthetic}", encoding="utf-8")
    assert [worker.model for worker in serve.make_plan(ServeSettings(port=0), config).workers] == [
        "synthetic"
    ]


def test_a_model_directory_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match="no such model directory"):
        serve.make_plan(ServeSettings(port=0, model=str(tmp_path / "absent")))


@pytest.mark.parametrize("model", ["./voices", "../voices", "/srv/voices", "a/b/c", "voices", "~/voices"])
def test_what_is_no_repository_id_must_be_a_directory(model: str) -> None:
    with pytest.raises(ModelMissingError):
        check_model(model)


def test_directories_repository_ids_and_the_synthetic_model_pass(tmp_path: Path) -> None:
    for model in (str(tmp_path), "openbmb/VoxCPM2", "synthetic"):
        check_model(model)


def test_a_missing_bundled_voice_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_source, "bundled_directory", lambda: tmp_path)
    with pytest.raises(ModelMissingError, match=r"config\.json"):
        check_model("bundled")
    (tmp_path / "config.json").touch()
    check_model("bundled")


def both(**settings: object) -> ServeSettings:
    return ServeSettings(port=0, model="bundled", text_model="owner/model", **settings)


def devices_of(placements: list[Placement]) -> list[str]:
    return [placement.environment.get("CUDA_VISIBLE_DEVICES", placement.device) for placement in placements]


@pytest.mark.parametrize(
    ("gpus", "settings", "speech", "text"),
    [
        ([], {}, ["cpu"], ["cpu"]),
        (["0"], {}, ["0"], ["0"]),
        (["0", "1"], {}, ["0"], ["1"]),
        (["0", "1", "2"], {}, ["0", "1"], ["2"]),
        (["0", "1", "2"], {"text_workers": 2}, ["0"], ["1", "2"]),
        (["0", "1"], {"device": "cpu"}, ["cpu"], ["cpu"]),
        (["0", "1"], {"workers": 3}, ["0", "0", "0"], ["1"]),
        (["0", "1", "2"], {"text_tensor_parallel_size": 2}, ["0"], ["1,2"]),
        (
            ["0", "1", "2", "3", "4"],
            {"text_workers": 2, "text_tensor_parallel_size": 2},
            ["0"],
            ["1,2", "3,4"],
        ),
    ],
)
def test_text_has_gpus_of_its_own_where_there_are_enough(
    gpus: list[str],
    settings: dict[str, object],
    speech: list[str],
    text: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serve, "visible_gpus", lambda: gpus)
    monkeypatch.delenv(serve.MEMORY_VARIABLE, raising=False)
    speaking, writing = serve.plan_placements(both(**settings), "bundled")
    assert (devices_of(speaking), devices_of(writing)) == (speech, text)
    shared = {placement.environment.get(serve.MEMORY_VARIABLE) for placement in writing}
    assert shared == ({"0.5"} if gpus == ["0"] else {None})


@pytest.mark.parametrize("gpus", [[], ["0", "1"]])
def test_a_worker_of_several_gpus_is_told_how_many(gpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "visible_gpus", lambda: gpus)
    speaking, writing = serve.plan_placements(both(text_tensor_parallel_size=2, workers=1), "bundled")
    assert [place.environment.get(RANKS_VARIABLE) for place in (*speaking, *writing)] == [None, "2"]
    with pytest.raises(DeviceError, match="a worker over 3 GPUs: PyTorch sees 2"):
        place_workers(1, "cuda", ["0", "1"], 3)


def test_workers_of_several_gpus_share_none_of_them() -> None:
    gpus = ["0", "1", "2", "3", "4"]
    assert devices_of(place_workers("auto", "auto", gpus, 2)) == ["0,1", "2,3"]
    with pytest.raises(DeviceError, match="3 workers over 2 GPUs each: PyTorch sees 5"):
        place_workers(3, "cuda", gpus, 2)


@pytest.mark.parametrize(
    ("gpus", "speech", "text"), [(["0", "1", "2"], ["0,1"], ["2"]), ([], ["cpu"], ["cpu"])]
)
def test_the_size_of_the_worker_section_is_not_that_of_the_text_model(
    gpus: list[str], speech: list[str], text: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "visible_gpus", lambda: gpus)
    speaking, writing = serve.plan_placements(both(workers=1), "bundled", 2)
    assert (devices_of(speaking), devices_of(writing)) == (speech, text)
    assert [place.environment.get(RANKS_VARIABLE) for place in (*speaking, *writing)] == ["2", "1"]


def test_all_workers_on_a_cpu_know_how_many_they_are() -> None:
    speaking, writing = serve.plan_placements(both(device="cpu", workers=2, text_workers=2), "bundled")
    sharing = Placement("cpu", {"VOXFLEET_WORKER_WORKERS_ON_MACHINE": "4"})
    assert speaking == writing == [sharing] * 2


def test_both_kinds_of_workers_are_planned() -> None:
    plan = serve.make_plan(both(device="cpu", text_slots=7))
    assert [(worker.name, worker.model, worker.slots) for worker in plan.workers] == [
        ("worker-0", "bundled", None),
        ("text-0", "owner/model", 7),
    ]
    assert plan.workers[0].port != plan.workers[1].port
