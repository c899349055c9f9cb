"""Which rows that wait are worked on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Gauge

from gateway.tending.failures import OfAnotherBuild
from gateway.tending.tending import Tending


@dataclass
class Row:
    id: str
    owner: str = "somebody"


@dataclass
class Folder:
    """One that cannot be locked where it is broken."""

    is_broken: bool

    def lock(self) -> bool:
        if self.is_broken:
            raise PermissionError
        return True

    def unlock(self) -> None:
        """Nobody else wants it."""


@dataclass
class Errands:
    rows: list[Row]
    done: list[str] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def waiting(self) -> list[Row]:
        return [row for row in self.rows if row.id not in self.done]

    async def to_lock(self, row: Row) -> Folder:
        return Folder(row.id == "broken")

    async def begin(self, row: Row, files: Folder) -> Row:
        return row

    async def work(self, row: Row, files: Folder) -> None:
        if row.id == "tomorrow's":
            raise OfAnotherBuild
        self.done.append(row.id)
        if row.id == self.rows[-1].id:
            self.over.set()

    async def sweep(self) -> None:
        """Nothing is old."""


async def test_a_folder_that_cannot_be_locked_keeps_no_other_row() -> None:
    errands = Errands([Row("broken"), Row("whole")])
    gauge = Gauge("running", "Rows", registry=CollectorRegistry())
    tending = Tending[Any, Any](errands, 1, lambda: False, gauge)
    async with tending.running(), asyncio.timeout(5):
        await errands.over.wait()
    assert errands.done == ["whole"]


async def test_a_row_of_another_build_is_left_to_others_and_keeps_no_other_row() -> None:
    """Locked again at once, a gateway of that build would never find it unlocked."""
    errands = Errands([Row("tomorrow's"), Row("first"), Row("second")])
    gauge = Gauge("running", "Rows", registry=CollectorRegistry())
    tending = Tending[Any, Any](errands, 1, lambda: False, gauge)
    async with tending.running(), asyncio.timeout(5):
        await errands.over.wait()
    assert errands.done == ["first", "second"]


async def test_whose_rows_are_done_is_forgotten() -> None:
    """Owners are addresses, of which there is no end."""
    errands = Errands([Row(str(number), owner=f"192.0.2.{number}") for number in range(20)])
    gauge = Gauge("running", "Rows", registry=CollectorRegistry())
    tending = Tending[Any, Any](errands, 2, lambda: False, gauge)
    async with tending.running(), asyncio.timeout(5):
        await errands.over.wait()
    assert len(errands.done) == 20
    assert not any("192.0.2." in repr(kept) for kept in vars(tending).values() if kept is not errands)
