"""Figures of an hour that a small fleet might have had, so that the graphs of a picture are not empty."""

from __future__ import annotations

import math
import random
import time
from pathlib import Path

from gateway.database import Database, FigureSpan
from gateway.operations.measurements.figures import Figures
from gateway.settings.storage import DATABASE_FILE

SPAN_SECONDS = 10
SPANS = 360
SLOTS = 6
WORKERS = 3
SPEECH_PER_SLOT = 1.8
CLIPS_PER_SPAN = 4
AGO_SECONDS = 40
"""When they end: a gateway that wrote in the last half minute counts as one that runs."""


async def keep_past_hour(folder: Path) -> None:
    """Writes them to the database of a gateway that has this folder and does not run yet."""
    chance = random.Random(8)
    newest = int(time.time() - AGO_SECONDS) // SPAN_SECONDS * SPAN_SECONDS
    database = Database(f"sqlite:///{folder / DATABASE_FILE}")
    await database.open()
    async with database.transaction() as rows:
        for number in range(SPANS):
            at = newest - SPAN_SECONDS * (SPANS - 1 - number)
            figures = _figures(number / SPANS, chance).as_fields()
            rows.add(FigureSpan(length=SPAN_SECONDS, at=at, gateway="before", figures=figures))
    await database.close()


def _figures(time_of_hour: float, chance: random.Random) -> Figures:
    """More and more is asked for, twice so much that some wait."""
    wanted = 2.6 + 1.6 * time_of_hour + 2.2 * math.sin(12 * time_of_hour) + chance.uniform(-0.3, 0.3)
    used, waiting = max(0.0, min(SLOTS, wanted)), max(0.0, wanted - SLOTS + 0.6)
    figures = Figures(
        SPAN_SECONDS,
        worker_seconds=WORKERS * SPAN_SECONDS,
        slot_seconds=SLOTS * SPAN_SECONDS,
        speech_seconds=SPEECH_PER_SLOT * used * SPAN_SECONDS,
        used_seconds=used * SPAN_SECONDS,
        waiting_seconds=waiting * SPAN_SECONDS,
        requests=round(used * CLIPS_PER_SPAN / SLOTS),
    )
    for _ in range(CLIPS_PER_SPAN):
        figures.heard_after(0.09 + 0.012 * used + 0.05 * waiting + chance.expovariate(60))
    return figures
