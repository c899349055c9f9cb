"""Which builds the gateways of a database run, as the figures tell that each of them writes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import structlog
from sqlalchemy import select

from gateway.database import Database, FigureSpan
from gateway.database.transactions import FAILURES
from telemetry.build import build

logger = structlog.get_logger(__name__)

BUILD = "build"
"""A field of the figures: None for one that has ended. Gateways of older versions write none."""
_SPAN_SECONDS = 10
_PRESENT_SECONDS = 30
"""Whoever has written figures of these last seconds is there: each does so every ten."""


class GatewayBuilds:
    """Gateways by build, as far as is known at one of them."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since 1970."""
        self._database, self._clock = database, clock
        self._counts: Counter[str] = Counter()

    async def look(self) -> None:
        """Read anew, and log what has changed where there are several; what was read last holds otherwise."""
        now = self._clock()
        present = (
            select(FigureSpan.gateway, FigureSpan.figures)
            .where(FigureSpan.length == _SPAN_SECONDS, FigureSpan.at > now - _PRESENT_SECONDS)
            .order_by(FigureSpan.at)
        )
        try:
            async with self._database.transaction() as rows:
                last = {name: figures.get(BUILD, "") for name, figures in await rows.execute(present)}
        except FAILURES as error:
            logger.info("the builds of gateways cannot be read", error=type(error).__name__)
            return
        before, self._counts = self._counts, Counter(name for name in last.values() if name is not None)
        if self.differ and self._counts.keys() != before.keys():
            logger.warning("gateways of several builds share the database", builds=dict(self._counts))

    @property
    def differ(self) -> bool:
        """Whether there are several builds, as during an upgrade."""
        return len(self._counts) > 1

    def describe(self) -> list[dict[str, Any]]:
        """Each build with its gateways, the most frequent first; a build that is not told is ""."""
        counts = self._counts or Counter([build()])
        return [{"build": name, "gateways": count} for name, count in counts.most_common()]
