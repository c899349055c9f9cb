"""The fleet file: kinds of workers, objective, budget and floors, as YAML.

workers:
  gpu: {model: openbmb/VoxCPM2, slots: 32, audio_seconds_per_second: 300, least: 1, most: 8}
floors:
  - {workers: gpu, least: 4, from: "08:00", until: "20:00", days: [mon, tue, wed], timezone: Europe/Berlin}

kubernetes.py, ray.py, training.py  sections for a cluster, for Ray, for trainings
share.py                            what one worker asks its machine for, in both
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from gateway.operations.fleet_messages import KindName
from gateway.settings import GatewaySettings
from voxfleet.fleet.autoscaling.rules import Budget, Objective, Rules, ScheduledFloor, WorkerKind, zone_of
from voxfleet.fleet.file.kubernetes import KubernetesSection
from voxfleet.fleet.file.ray import RaySection
from voxfleet.fleet.file.share import MOST_GPUS, RangeSection, StrictSection
from voxfleet.fleet.file.training import TrainingSection
from voxfleet.settings import SettingsError, problems_of, read_yaml

MOST_WORKERS = 1000
MOST_KINDS = 32
MOST_FLOORS = 100
MOST_GATEWAYS_HERE = 16
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Count = Annotated[int, Field(ge=0, le=MOST_WORKERS)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
TimeOfDay = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]\z")]


class WorkersSection(RangeSection):
    """One kind of workers."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    device: Literal["auto", "cpu", "cuda"] = "auto"
    slots: Annotated[int, Field(ge=1, le=1024)] = 4
    tensor_parallel_size: Annotated[int, Field(ge=1, le=MOST_GPUS)] = 1
    """GPUs of one machine over which a worker shares its model out."""
    audio_seconds_per_second: Annotated[float, Field(gt=0, le=100_000)]
    """What one makes with all slots in use, until it is measured."""
    loading_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """Until it is measured."""
    cost_per_hour: Annotated[float, Field(ge=0, le=100_000)] = 1.0
    least: Count = 0
    most: Count = MOST_WORKERS
    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,63}\z")] = ""
    """Any word: with another one, workers are replaced, though nothing else changed."""

    @property
    def digest(self) -> str:
        """A digest of all that a worker is started with: where it differs, workers are replaced."""
        started_with = {"model", "device", "slots", "version"}
        if self.tensor_parallel_size > 1:
            started_with.add("tensor_parallel_size")
        said = self.model_dump_json(include=started_with)
        return hashlib.sha256(said.encode()).hexdigest()[:12]


class ObjectiveSection(StrictSection):
    """What listeners are promised: for the autoscaler, and for the metrics and alerts of the gateways."""

    first_audio_seconds: Seconds = 1.0
    first_token_seconds: Seconds = 2.0
    """The promise for text models."""
    attained: Annotated[float, Field(ge=0.5, le=0.9999)] = 0.995

    def gateway_variables(self) -> dict[str, str]:
        """These objectives as environment variables of a gateway."""
        return {
            "VOXFLEET_OBJECTIVE_FIRST_AUDIO_SECONDS": f"{self.first_audio_seconds:g}",
            "VOXFLEET_OBJECTIVE_FIRST_AUDIO_BUDGET": f"{1 - self.attained:g}",
            "VOXFLEET_OBJECTIVE_FIRST_TOKEN_SECONDS": f"{self.first_token_seconds:g}",
            "VOXFLEET_OBJECTIVE_FIRST_TOKEN_BUDGET": f"{1 - self.attained:g}",
        }

    def or_those_of(self, gateway: GatewaySettings) -> ObjectiveSection:
        """With the gateway's settings for what the file does not say."""
        settings = {
            "first_audio_seconds": gateway.objective_first_audio_seconds,
            "first_token_seconds": gateway.objective_first_token_seconds,
            "attained": 1 - gateway.objective_first_audio_budget,
        }
        said = self.model_dump(include=self.model_fields_set)
        return ObjectiveSection(**{**settings, **said})


class BudgetSection(StrictSection):
    most_workers: Count = MOST_WORKERS
    most_cost_per_hour: Annotated[float, Field(ge=0)] | None = None
    """None: any."""


class FloorSection(StrictSection):
    """A least number of workers at some times."""

    workers: KindName
    least: Count
    start: Annotated[TimeOfDay, Field(alias="from")]
    until: TimeOfDay
    """Not after `from`: on the next day."""
    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = DAYS
    timezone: Annotated[str, Field(max_length=64)] = "UTC"

    @field_validator("timezone")
    @classmethod
    def check_timezone(cls, name: str) -> str:
        """This machine knows the zone."""
        try:
            zone_of(name)
        except (ValueError, KeyError, OSError) as error:
            raise ValueError(f"this machine knows no time zone {name!r}") from error
        return name


class FleetFile(StrictSection):
    """The whole file."""

    workers: Annotated[dict[KindName, WorkersSection], Field(min_length=1, max_length=MOST_KINDS)]
    objective: ObjectiveSection = ObjectiveSection()
    budget: BudgetSection = BudgetSection()
    training: TrainingSection = TrainingSection()
    floors: Annotated[tuple[FloorSection, ...], Field(max_length=MOST_FLOORS)] = ()
    settle_seconds: Seconds = Rules.settle_seconds
    idle_seconds: Seconds = Rules.idle_seconds
    place: Literal["local", "ray"] = "local"
    """Where `voxfleet fleet up` runs workers: on this machine, or in a cluster of Ray."""
    gateways: Annotated[int, Field(ge=1, le=MOST_GATEWAYS_HERE)] = 1
    """How many gateways `voxfleet fleet up` runs, each on the port after the last one's. Kubernetes has
    its own number.
    """
    kubernetes: KubernetesSection = KubernetesSection()
    ray: RaySection = RaySection()

    @model_validator(mode="after")
    def check_shares(self) -> Self:
        """Resources are of workers that there are, and fit the device."""
        for place, shares in (("kubernetes", self.kubernetes.workers), ("ray", self.ray.workers)):
            for name, share in shares.items():
                where = f"{place}.workers.{name}"
                if name not in self.workers:
                    raise ValueError(f"{place}.workers: there is no {name!r} under workers")
                if self.workers[name].device == "cpu" and share.gpus:
                    raise ValueError(f"{where}.gpus: the device of {name} is cpu")
                if self.workers[name].device == "cuda" and share.gpus == 0:
                    raise ValueError(f"{where}.gpus: the device of {name} is cuda")
                ranks = self.workers[name].tensor_parallel_size
                if share.gpus and ranks > 1 and share.gpus != ranks:
                    raise ValueError(f"{where}.gpus: the tensor_parallel_size of {name} is {ranks}")
        return self

    @model_validator(mode="after")
    def check_training(self) -> Self:
        """What is trained is a model that workers speak with."""
        base = self.training.base
        if base == "synthetic":
            raise ValueError("training.base: the synthetic model cannot be trained")
        if base is not None and base not in {kind.model for kind in self.workers.values()}:
            raise ValueError(f"training.base: no workers have the model {base!r} to speak with it")
        return self

    @model_validator(mode="after")
    def check_floors(self) -> Self:
        """Floors are of workers that there are, and within their limits and the budget."""
        for place, floor in enumerate(self.floors):
            kind = self.workers.get(floor.workers)
            if kind is None:
                raise ValueError(f"floors.{place}.workers: there is no {floor.workers!r} under workers")
            if floor.least > kind.most:
                raise ValueError(f"floors.{place}.least: {floor.workers} has most {kind.most}")
        least = {
            name: max([kind.least, *(floor.least for floor in self.floors if floor.workers == name)])
            for name, kind in self.workers.items()
        }
        cost = sum(count * self.workers[name].cost_per_hour for name, count in least.items())
        if (workers := sum(least.values())) > self.budget.most_workers:
            raise ValueError(f"budget.most_workers: the floors together may need {workers}")
        if self.budget.most_cost_per_hour is not None and cost > self.budget.most_cost_per_hour:
            raise ValueError(f"budget.most_cost_per_hour: the floors together may cost {cost:g}")
        return self

    def gateway_variables(self) -> dict[str, str]:
        """What the gateways are told, by the names that settings have in their environment."""
        return self.objective.gateway_variables() | self.training.gateway_variables()

    def rules(self) -> Rules:
        """The rules for the autoscaler."""
        kinds = tuple(
            WorkerKind(
                name,
                **kind.model_dump(exclude={"device", "tensor_parallel_size", "version"}),
                version=kind.digest,
            )
            for name, kind in self.workers.items()
        )
        budget = self.budget
        cost = float("inf") if budget.most_cost_per_hour is None else budget.most_cost_per_hour
        return Rules(
            kinds,
            Objective(**self.objective.model_dump()),
            Budget(budget.most_workers, cost),
            tuple(map(_floor, self.floors)),
            self.settle_seconds,
            self.idle_seconds,
        )


def read_fleet_file(path: Path) -> FleetFile:
    """Raises SettingsError that names each field that is wrong, and its limit."""
    document = read_yaml(path)
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected the section workers, and maybe others")
    try:
        return FleetFile.model_validate(document)
    except ValidationError as error:
        raise SettingsError(f"{path}: {problems_of(error)}") from None


def _floor(floor: FloorSection) -> ScheduledFloor:
    days = frozenset(DAYS.index(day) for day in floor.days)
    minutes = _minute(floor.start), _minute(floor.until)
    return ScheduledFloor(floor.workers, floor.least, *minutes, days, floor.timezone)


def _minute(time: str) -> int:
    hours, minutes = time.split(":")
    return 60 * int(hours) + int(minutes)
