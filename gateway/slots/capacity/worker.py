"""One worker as the gateway sees it: who it is, whether it lives, and which slots of it are leased.

The three are kept apart. `health` says whether the gateway may route to it: UNKNOWN until the first answer,
UP, SUSPECT after a failure, DOWN after several. `status` is what the worker last said of itself. `leases` is
what this gateway has given out. A lease that ends never makes a dead worker usable, and a worker that comes
back as a new process starts with no leases.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from gateway.slots.capacity.absence import Absence
from gateway.slots.capacity.estimates import ServiceTime, SlotForecast
from gateway.slots.capacity.figures import WorkerFigures
from gateway.slots.capacity.sharing import Sharing
from gateway.slots.capacity.trust import Trust
from gateway.slots.requirement import DUPLEX_ACTIVE, DUPLEX_PAUSED, Requirement
from worker.protocol import AnyModel, WorkerState, WorkerStatus

_SERVING = (WorkerState.IDLE, WorkerState.BUSY)
_MOST_REMEMBERED = 64
LEFT = "the worker left"
"""The `last_failure` of one that said that it ends."""


class Health(StrEnum):
    """Whether a worker may be routed to: only when UP."""

    UNKNOWN = "unknown"
    UP = "up"
    SUSPECT = "suspect"
    DOWN = "down"


class UsedSlot(Protocol):
    """What a worker knows of a `Lease` on one of its slots."""

    @property
    def granted_at(self) -> float:
        """Reading of the pool's clock."""

    @property
    def mode(self) -> str:
        """A clip, or a live session that is active or paused."""


@dataclass(eq=False)
class Worker:
    """State of one worker. Plain data and rules; who probes it and who leases it is elsewhere."""

    id: str
    url: str
    failures_down: int = 3
    health: Health = Health.UNKNOWN
    status: WorkerStatus | None = None
    model: AnyModel | None = None
    """The model it serves, or served before it was restarted; None before it ever said."""
    leases: dict[str, UsedSlot] = field(default_factory=dict)
    service_time: ServiceTime = field(default_factory=ServiceTime)
    figures: WorkerFigures = field(default_factory=WorkerFigures)
    absence: Absence = field(default_factory=Absence)
    sharing: Sharing = field(default_factory=Sharing)
    """Its slots that other gateways use."""
    trust: Trust = field(default_factory=Trust)
    failures: int = 0
    """Failed probes in a row."""
    last_failure: str | None = None
    moving_out: bool = False
    """It drains, and its streams are to go on elsewhere as soon as there is room."""
    restarting: bool = False
    """It was told to end and is expected to be started again: requests may wait for it."""
    _recent: OrderedDict[str, None] = field(default_factory=OrderedDict)
    """What its caches probably hold (`Requirement.affinity`), the latest last."""

    @property
    def boot_id(self) -> str | None:
        """The boot id of the process that answered last; None before that."""
        return self.status.boot_id if self.status else None

    @property
    def slots_total(self) -> int:
        """How many requests it takes at once; 0 before it ever answered."""
        return self.status.slots_total if self.status else 0

    @property
    def state(self) -> str:
        """LOADING, IDLE, BUSY, DRAINING, ERROR or DOWN."""
        if self.status is None or self.health is not Health.UP:
            return "DOWN"
        if self.status.state in _SERVING:
            return "BUSY" if self.slots_used else "IDLE"
        return self.status.state.value

    @property
    def serving(self) -> bool:
        """Whether it takes requests, if not at this moment then when a slot is free."""
        return self.health is Health.UP and self.status is not None and self.status.state in _SERVING

    @property
    def pending(self) -> bool:
        """Whether it may soon be serving: it loads, or it is not known yet how it is."""
        if self.health in (Health.UNKNOWN, Health.SUSPECT) or self.restarting:
            return True
        return (
            self.health is Health.UP and self.status is not None and self.status.state is WorkerState.LOADING
        )

    @property
    def slots_used(self) -> int:
        """By this gateway and others, as far as is known."""
        return min(len(self.leases) + self.sharing.others, max(self.slots_total, len(self.leases)))

    def wants_work(self) -> bool:
        """Whether a lease may be given out as soon as a slot is free."""
        if not self.serving or len(self.leases) >= self.slots_total:
            return False
        return self.trust.allows(self.leases.keys())

    def has_room(self) -> bool:
        """Whether a lease may be given out now."""
        return self.wants_work() and self.sharing.room(self.slots_total - len(self.leases)) > 0

    @property
    def room(self) -> int:
        """How many leases may be given out now."""
        if not self.wants_work():
            return 0
        room = self.sharing.room(self.slots_total - len(self.leases))
        return min(room, 1) if self.trust.on_trial else room

    @property
    def load(self) -> float:
        """From 0 to 1 by its slots; more than any of these where others are preferred. It has some."""
        return self.slots_used / self.slots_total + self.trust.passed_over

    @property
    def speaks(self) -> bool:
        """Whether its model is one of speech."""
        return self.model is not None and self.model.kind == "speech"

    def offers(self, requirement: Requirement) -> bool:
        """Whether its model is what the requirement asks for."""
        return self.model is not None and requirement.met_by(self.model)

    def has_cached(self, affinity: str) -> bool:
        """Whether its caches probably hold that voice, or that beginning of a conversation."""
        return affinity in self._recent

    def remember(self, affinity: str) -> None:
        """It is about to compute that."""
        self._recent[affinity] = None
        self._recent.move_to_end(affinity)
        if len(self._recent) > _MOST_REMEMBERED:
            self._recent.popitem(last=False)

    def answered(self, status: WorkerStatus) -> None:
        """A probe succeeded. A suspect whose engine stands still on an open request stays suspect."""
        previous, self.status = self.status, status
        self.model = status.model or self.model
        same_process = previous is not None and previous.boot_id == status.boot_id
        if not same_process:
            self.leases.clear()
            self.sharing.restarted()
            self._recent.clear()
            self.trust.restarted()
            self.moving_out = self.restarting = False
        self.failures = 0
        at_work = status.slots_used > status.slots_paused
        frozen = same_process and at_work and status.step == previous.step
        if not (self.health is Health.SUSPECT and frozen):
            self.health = Health.UP
            self.last_failure = None

    def missed(self, reason: str) -> None:
        """A probe failed: suspect at first, down after `failures_down` in a row."""
        self.failures += 1
        self.last_failure = reason
        self.health = Health.DOWN if self.failures >= self.failures_down else Health.SUSPECT

    def gone(self, reason: str) -> None:
        """It is known to be away: down at once."""
        self.failures = max(self.failures, self.failures_down)
        self.last_failure = reason
        self.health = Health.DOWN

    def suspected(self, reason: str) -> None:
        """A request failed on it in a way that it may be to blame for: no lease until a probe succeeds."""
        self.last_failure = reason
        self.trust.try_out(self.leases.keys())
        if self.health is Health.UP:
            self.health = Health.SUSPECT

    def failed(self, reason: str) -> bool:
        """It says that a request failed, which may be the request's fault; whether it is suspected for it.

        It is when several failed in a row: a worker that fails everything is fast and always free, and would
        take one request after the other.
        """
        if not self.trust.failed():
            return False
        self.suspected(reason)
        return True

    def doubt(self) -> float:
        """It refused a request though it shares its slots: let it say how they stand now. Returns the seconds
        until `end_doubt`, should it have nothing to say.
        """
        self.sharing.doubtful = True
        return self.trust.next_hold_seconds()

    def end_doubt(self) -> None:
        """It had nothing to say."""
        self.sharing.doubtful = False

    @property
    def turn_seconds(self) -> float:
        """How long until a slot comes round again for this gateway: where other gateways wait, each of them
        has it once in between.
        """
        return self.service_time.seconds * (1 + self.sharing.waiting)

    def forecast(self, now: float) -> list[SlotForecast]:
        """When each of its slots is free for this gateway.

        How long the requests of others have run is not known: on average they are half way through.
        """
        service = self.service_time.seconds
        turns_of_others = self.turn_seconds - service
        slots = [
            self.service_time.remaining(now - lease.granted_at) + turns_of_others
            for lease in self.leases.values()
        ]
        slots += [service / 2] * (self.slots_used - len(slots))
        slots += [0.0] * (self.slots_total - len(slots))
        return [SlotForecast(free_in_seconds, self.turn_seconds) for free_in_seconds in slots]

    @property
    def expected(self) -> bool:
        """Whether a process of it loads, or will be started by somebody."""
        if self.restarting or self.state == WorkerState.LOADING:
            return True
        ended = self.health is Health.DOWN or self.state == WorkerState.ERROR
        return ended and self.status is not None and self.status.supervised

    def forecast_return(self, now: float) -> list[SlotForecast]:
        """When its slots are free, as far as is known of a worker that is `expected`."""
        back_in_seconds = self.absence.remaining(now)
        return [SlotForecast(back_in_seconds, self.service_time.seconds)] * self.slots_total

    def describe(self) -> dict[str, Any]:
        """The worker as the admin API shows it; `slots_of_others` are used by other gateways."""
        said: dict[str, Any] = {"device": None}
        modes = [lease.mode for lease in self.leases.values()]
        if self.status is not None:
            own_words = {"state", "slots_total", "slots_used", "model"}
            said = self.status.model_dump(mode="json", exclude=own_words)
        return {
            "id": self.id,
            "url": self.url,
            "state": self.state,
            "slots_total": self.slots_total,
            "slots_used": self.slots_used,
            "slots_of_others": self.slots_used - len(self.leases),
            "live_active": modes.count(DUPLEX_ACTIVE),
            "live_paused": modes.count(DUPLEX_PAUSED),
            "model": self.model.name if self.model else None,
            "model_info": self.model.model_dump(mode="json") if self.model else None,
            "health": self.health.value,
            "last_failure": self.last_failure,
            "service_seconds": round(self.service_time.seconds, 3),
            "restarting": self.restarting,
            "batch_size": self.status.slots_used if self.status else 0,
            **self.figures.describe(),
            **said,
        }
