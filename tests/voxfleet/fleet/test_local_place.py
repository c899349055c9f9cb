"""Which GPUs of this machine the workers of a fleet get."""

from __future__ import annotations

import pytest

from voxfleet.fleet.file import WorkersSection
from voxfleet.fleet.local import LocalPlace
from voxfleet.fleet.place import PlaceFull
from voxfleet.processes.devices import RANKS_VARIABLE
from voxfleet.processes.worker_service import WorkerPlan


class Plans:
    """Where a supervisor would start workers."""

    def __init__(self) -> None:
        self.all: list[WorkerPlan] = []

    def add_worker(self, worker: WorkerPlan) -> None:
        self.all.append(worker)

    @property
    def gpus(self) -> list[str | None]:
        return [plan.placement.environment.get("CUDA_VISIBLE_DEVICES") for plan in self.all]


def kind(size: int) -> WorkersSection:
    return WorkersSection(
        model="owner/model", device="cuda", audio_seconds_per_second=1, tensor_parallel_size=size
    )


def place(plans: Plans, gpus: list[str]) -> LocalPlace:
    return LocalPlace(plans, {"pair": kind(2), "one": kind(1), "many": kind(8)}, gpus, 0)


def test_workers_over_two_gpus_get_pairs_and_those_with_the_fewest_workers() -> None:
    plans = Plans()
    machine = place(plans, ["0", "1", "2", "3", "4"])
    for name in ("one", "pair", "pair", "one"):
        machine.start(name)
    assert plans.gpus == ["0", "2,3", "0,1", "4"]
    assert [plan.placement.environment.get(RANKS_VARIABLE) for plan in plans.all] == [None, "2", "2", None]


def test_a_worker_over_more_gpus_than_there_are_finds_no_place() -> None:
    with pytest.raises(PlaceFull, match="a worker over 8 GPUs: PyTorch sees 2"):
        place(Plans(), ["0", "1"]).start("many")
