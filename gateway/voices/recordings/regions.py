"""Where in a recording something is: stretches in seconds, few enough to be drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MOST_REGIONS = 16
"""The most regions of one remark; the longest are told."""


class Region(NamedTuple):
    """From one second to another, of the recording as it was sent."""

    start_seconds: float
    end_seconds: float


def regions_of(
    marked: np.ndarray, step_seconds: float, join_seconds: float = 0.0, least_seconds: float = 0.0
) -> tuple[Region, ...]:
    """Where bool [n] is true, each element `step_seconds` long, in order of time.

    Stretches less than `join_seconds` apart are one, and those shorter than `least_seconds` are left out.
    """
    edges = np.flatnonzero(np.diff(marked.astype(np.int8), prepend=0, append=0))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return ()
    apart = (starts[1:] - ends[:-1]) * step_seconds >= join_seconds
    starts, ends = starts[np.append(True, apart)], ends[np.append(apart, True)]
    longest = np.argsort(starts - ends, kind="stable")[:MOST_REGIONS]
    return tuple(
        Region(round(float(starts[i]) * step_seconds, 3), round(float(ends[i]) * step_seconds, 3))
        for i in np.sort(longest)
        if (ends[i] - starts[i]) * step_seconds >= least_seconds
    )
