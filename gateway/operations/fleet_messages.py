"""What the controller of the fleet and operators say, as they send it to `/api/fleet`."""

from __future__ import annotations

from string import Formatter
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from gateway.bounds import few_fields
from gateway.operations.sayings import SAYINGS
from gateway.slots.capacity.worker import Worker
from gateway.slots.requirement import Requirement

FAILING_STARTS = 3
"""In a row; then nobody waits for a kind of workers any more, and one start of it is tried at a time."""
_MOST = 100_000
KindName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?\z")]
Count = Annotated[int, Field(ge=0, le=_MOST)]
Fact = str | Annotated[int, Field(strict=True)] | float


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    _few_fields = model_validator(mode="before")(few_fields)


class KindReport(_Part):
    """Workers of one kind."""

    kind: KindName
    model: Annotated[str, Field(max_length=200)]
    """As the fleet file names it."""
    announced: Annotated[str, Field(max_length=200)] | None = None
    """The name that its workers give the model; None before one has loaded."""
    least: Count
    most: Count
    serving: Count = 0
    loading: Count = 0
    draining: Count = 0
    failed_starts: Count = 0
    former: Count = 0
    """How many of all these run what the fleet file said before."""
    unplaced: Count = 0
    """How many of those that load wait for a machine."""
    version: Annotated[str, Field(max_length=64)] = ""
    """The version of what the fleet file says of its workers."""
    scaled: Count | None = None
    """As many as were ordered; None: by need."""

    def offers(self, requirement: Requirement, is_first: bool, workers: list[Worker]) -> bool:
        """Whether a worker of it could serve the requirement, as far as is known."""
        names = {self.announced} if self.announced else {self.model, self.model.rpartition("/")[2]}
        if requirement.model is None and not is_first:
            return False
        if requirement.model is not None and requirement.model not in names:
            return False
        known = next((w for w in workers if w.model is not None and w.model.name == self.announced), None)
        return known is None or known.offers(requirement)


class Said(_Part):
    """A decision, for the event log."""

    kind: KindName
    saying: Annotated[str, Field(pattern=r"^fleet_(up|down|budget|starts|no)[a-z_]{0,40}\z")]
    facts: Annotated[dict[str, Fact], Field(max_length=8)]

    @field_validator("saying")
    @classmethod
    def check_saying(cls, saying: str) -> str:
        """It is one of the sayings."""
        if saying not in SAYINGS:
            raise ValueError("is no saying of the event log")
        return saying

    @model_validator(mode="after")
    def check_facts(self) -> Said:
        """All that it says is given, and nothing else."""
        wanted = {name for _, name, _, _ in Formatter().parse(SAYINGS[self.saying]) if name}
        if wanted != self.facts.keys():
            raise ValueError(f"facts: {self.saying} has {', '.join(sorted(wanted))}")
        return self


class FleetReport(_Part):
    """What the controller says."""

    place: Annotated[str, Field(pattern=r"^[a-z]{1,20}\z")]
    """Where its workers run."""
    objective_seconds: Annotated[float, Field(gt=0, le=86_400)]
    """The objective for the first audio."""
    first_token_seconds: Annotated[float, Field(gt=0, le=86_400)] = 2.0
    kinds: Annotated[list[KindReport], Field(min_length=1, max_length=32)]
    said: Annotated[list[Said], Field(max_length=100)] = Field(default_factory=list)
    """Since its last report."""


class FleetOrders(_Part):
    """What an operator wants."""

    workers: Annotated[dict[KindName, Count | None], Field(max_length=32)] = Field(default_factory=dict)
    """So many of a kind; null: by need."""
    down: bool = False
    """Ends the fleet."""
