"""What operators ask for: kinds of workers, floors, a budget and the objective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

EVERY_DAY = frozenset(range(7))


@dataclass(frozen=True)
class WorkerKind:
    """Workers that are alike: the same model on the same devices."""

    name: str
    model: str
    slots: int
    audio_seconds_per_second: float
    """What one worker makes with all slots in use, as long as nothing was measured."""
    loading_seconds: float = 60.0
    """From its start until it serves, as long as nothing was measured."""
    cost_per_hour: float = 1.0
    """In any currency, the same one everywhere."""
    least: int = 0
    most: int = 1000
    version: str = ""
    """The version of what its workers are started with."""


@dataclass(frozen=True)
class ScheduledFloor:
    """At least so many workers of a kind, on some days between two times of the day."""

    kind: str
    least: int
    from_minute: int
    """The minute of the day, from 0 to 1439."""
    until_minute: int
    """Not included. Not after `from_minute`: on the next day."""
    days: frozenset[int] = EVERY_DAY
    """On which it begins; 0 is Monday."""
    timezone: str = "UTC"

    def holds(self, at: float) -> bool:
        """Whether it is in force at `at`, seconds since 1970."""
        here = datetime.fromtimestamp(at, zone_of(self.timezone))
        return any(begin <= here < end for begin, end in self._around(here))

    def begins_or_holds(self, at: float, ahead_seconds: float) -> bool:
        """Whether it `holds`, or begins within `ahead_seconds`."""
        here = datetime.fromtimestamp(at, zone_of(self.timezone))
        ahead = timedelta(seconds=ahead_seconds)
        return any(begin - ahead <= here < end for begin, end in self._around(here))

    def _around(self, here: datetime) -> Iterator[tuple[datetime, datetime]]:
        for offset in (-1, 0, 1):
            day = (here + timedelta(days=offset)).date()
            if day.weekday() not in self.days:
                continue
            begin = _at(day, self.from_minute, here.tzinfo)
            overnight = self.until_minute <= self.from_minute
            yield begin, _at(day + timedelta(days=overnight), self.until_minute, here.tzinfo)


def zone_of(name: str) -> tzinfo:
    """A time zone by its name; UTC needs no data of the system. Raises ValueError or KeyError."""
    return UTC if name == "UTC" else ZoneInfo(name)


def _at(day: date, minute: int, zone: tzinfo | None) -> datetime:
    return datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=zone)


@dataclass(frozen=True)
class Budget:
    """What all workers together may be; floors do not exceed it either."""

    most_workers: int = 1000
    most_cost_per_hour: float = float("inf")


@dataclass(frozen=True)
class Objective:
    """What listeners and readers are to feel."""

    first_audio_seconds: float = 1.0
    first_token_seconds: float = 2.0
    """The objective for text models."""
    attained: float = 0.995
    """Share of requests that get their first audio or token within that time."""


@dataclass(frozen=True)
class Rules:
    """The whole of it."""

    kinds: tuple[WorkerKind, ...]
    objective: Objective = field(default_factory=Objective)
    budget: Budget = field(default_factory=Budget)
    floors: tuple[ScheduledFloor, ...] = ()
    settle_seconds: float = 450.0
    """Workers drain when they were not needed for so long."""
    idle_seconds: float = 900.0
    """The last worker of a model without a floor drains when nothing was asked for so long."""

    @property
    def models(self) -> tuple[str, ...]:
        """Each once, in the order of the kinds."""
        return tuple(dict.fromkeys(kind.model for kind in self.kinds))
