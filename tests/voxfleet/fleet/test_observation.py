"""From totals of a gateway to a window."""

from __future__ import annotations

from typing import Any

from voxfleet.fleet.autoscaling.rules import Rules, WorkerKind
from voxfleet.fleet.desk import Seen
from voxfleet.fleet.observation import Observer
from voxfleet.fleet.place import Member

NOW = 1_800_000_000.0
GPU = WorkerKind("gpu", "owner/alpha", slots=8, audio_seconds_per_second=32.0)
CPU = WorkerKind("cpu", "beta", slots=2, audio_seconds_per_second=4.0)


def seen(boot: str = "a", workers: tuple[dict, ...] = (), **models: dict[str, Any]) -> Seen:
    named = {name.replace("any", ""): totals for name, totals in models.items()}
    return Seen.model_validate({"boot": boot, "orders": {}, "models": named, "workers": workers})


def worker(id: str, state: str = "IDLE", used: int = 0, made: float = 0.0) -> dict:
    said = {"id": id, "boot": f"boot-{id}", "state": state, "model": "alpha"}
    return {**said, "slots_used": used, "audio_seconds": made}


def test_what_was_added_since_the_last_look_is_a_sample_of_the_model() -> None:
    observer = Observer(Rules((GPU, CPU)))
    observer.look(seen(alpha={"requests": 5}, any={"requests": 1}), (), {}, NOW)
    window = observer.look(
        seen(alpha={"requests": 8, "waiting": 2, "late": 1}, any={"requests": 2}, beta={"requests": 1}),
        (), {}, NOW + 2,
    )  # fmt: skip
    alpha, beta = window.models
    last = alpha.samples[-1]
    assert (last.requests, last.waiting, last.late, last.seconds) == (4, 2, 1, 2)
    assert (alpha.samples[0].requests, beta.samples[-1].requests) == (6, 1)


def test_a_gateway_that_was_started_again_counts_from_zero() -> None:
    observer = Observer(Rules((GPU,)))
    observer.look(seen(alpha={"requests": 50}), (), {}, NOW)
    window = observer.look(seen("b", alpha={"requests": 3}), (), {}, NOW + 1)
    assert window.models[0].samples[-1].requests == 3


def test_workers_are_counted_as_the_gateway_sees_them() -> None:
    members = [Member(f"gpu-{n}", "gpu", ending=n == 5) for n in range(1, 7)]
    workers = (
        worker("gpu-1", "BUSY", 3), worker("gpu-2", "DRAINING", 1), worker("gpu-3", "LOADING"),
        worker("gpu-4", "DOWN"), worker("gpu-5", "IDLE"), worker("a guest", "IDLE", 4),
    )  # fmt: skip
    window = Observer(Rules((GPU,))).look(seen(workers=workers), members, {"gpu": 2}, NOW)
    (kind,) = window.kinds
    assert (kind.serving, kind.loading, kind.draining, kind.failed_starts) == (1, 3, 2, 2)
    assert window.models[0].samples[-1].used == 4  # a guest's slots are not of the fleet


def test_workers_without_a_machine_are_counted_among_those_that_load() -> None:
    members = [
        Member("gpu-1", "gpu", placed=False), Member("gpu-2", "gpu"),
        Member("gpu-3", "gpu", draining=True, placed=False), Member("gpu-4", "gpu", placed=False),
    ]  # fmt: skip
    workers = (worker("gpu-4"),)  # it serves, and its place has not heard of it yet
    (kind,) = Observer(Rules((GPU,))).look(seen(workers=workers), members, {}, NOW).kinds
    assert (kind.serving, kind.loading, kind.unplaced) == (1, 3, 1)


def test_speed_and_loading_time_are_measured() -> None:
    observer, members = Observer(Rules((GPU,))), [Member("gpu-1", "gpu")]
    observer.look(seen(), members, {}, NOW)
    observer.look(seen(workers=(worker("gpu-1", "LOADING"),)), members, {}, NOW + 5)
    observer.look(seen(workers=(worker("gpu-1", "BUSY", 2, 10.0),)), members, {}, NOW + 7)
    window = observer.look(seen(workers=(worker("gpu-1", "BUSY", 2, 18.0),)), members, {}, NOW + 9)
    (kind,) = window.kinds
    assert (kind.loading_seconds, kind.audio_seconds_made) == (7, 18)
    assert kind.slot_seconds == 2 * 2 + 2 * 2
    assert observer.announced == {"gpu": "alpha"}


def test_a_model_whose_workers_write_is_a_text_model() -> None:
    members = [Member("gpu-1", "gpu"), Member("cpu-1", "cpu")]
    workers = ({**worker("gpu-1"), "writes": True}, worker("cpu-1"))
    models = Observer(Rules((GPU, CPU))).look(seen(workers=workers), members, {}, NOW).models
    assert [model.writes for model in models] == [True, False]


def test_samples_are_kept_as_long_as_workers_take_to_settle() -> None:
    observer = Observer(Rules((GPU,), settle_seconds=30))
    for second in range(100):
        window = observer.look(seen(), (), {}, NOW + second)
    assert [sample.at for sample in window.models[0].samples] == [NOW + at for at in range(69, 100)]
