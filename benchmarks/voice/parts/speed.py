"""How fast the voice is made. Means something only on a machine that does nothing else."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np

from models.voxcpm import VoxCPM

ALONE, EIGHT = 8, 8
MOST_ALONE, MOST_EIGHT, MOST_FIRST_MS = 0.30, 1.0, 100.0


def timed(model: VoxCPM, text: str, options: dict[str, Any]) -> tuple[float, float]:
    """Of one clip: real-time factor, and milliseconds to the first audio."""
    began, first, samples = time.perf_counter(), None, 0
    for chunk in model.generate(text, seed=0, **options):
        first = first or time.perf_counter() - began
        samples += len(chunk)
    return (time.perf_counter() - began) * model.sample_rate / samples, 1e3 * (first or 0.0)


def measure(model: VoxCPM, texts: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """One stream after the other, then eight at once, each with its own real-time factor."""
    timed(model, texts[0], options)
    alone = [timed(model, text, options) for text in texts[:ALONE]]
    barrier = Barrier(EIGHT)

    def one_of_eight(text: str) -> tuple[float, float]:
        barrier.wait()
        return timed(model, text, options)

    with ThreadPoolExecutor(EIGHT) as pool:
        eight = list(pool.map(one_of_eight, texts[:EIGHT]))
    return {
        "rtf_alone": float(np.median([rtf for rtf, _ in alone])),
        "first_audio_ms": float(np.median([first for _, first in alone])),
        "rtf_of_eight": float(np.median([rtf for rtf, _ in eight])),
        "rtf_of_eight_worst": max(rtf for rtf, _ in eight),
    }


def goals(figures: dict[str, Any]) -> dict[str, bool]:
    return {
        f"one stream: real-time factor <= {MOST_ALONE}": figures["rtf_alone"] <= MOST_ALONE,
        f"one stream: first audio <= {MOST_FIRST_MS:.0f} ms": figures["first_audio_ms"] <= MOST_FIRST_MS,
        f"eight streams: real-time factor of each <= {MOST_EIGHT}": figures["rtf_of_eight_worst"]
        <= MOST_EIGHT,
    }
