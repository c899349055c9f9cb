"""How long a step of n decodes takes, learned from the steps that were run.

A step costs something whoever is in it (weights are read, kernels launched) and something for every row, so
`seconds = base + slope * rows` is fitted by least squares, in which old steps count less and less: after
steps of 32 rows in 20 ms and of 96 rows in 36 ms, a budget of 28 ms has room for 64 rows. Steps that also
prefill are left out, their time is not that of their decodes.
"""

from __future__ import annotations

MEMORY = 0.98
"""Weight of what was known against each new step; a change of pace is learned within some 50 steps."""


class StepTimeModel:
    """The fit; nothing is known before the first step."""

    def __init__(self) -> None:
        self._weight = self._rows = self._seconds = self._rows_squared = self._rows_seconds = 0.0

    def observe(self, rows: int, seconds: float) -> None:
        """Takes a step of `rows` decodes into account."""
        self._weight = self._weight * MEMORY + 1
        self._rows = self._rows * MEMORY + rows
        self._seconds = self._seconds * MEMORY + seconds
        self._rows_squared = self._rows_squared * MEMORY + rows * rows
        self._rows_seconds = self._rows_seconds * MEMORY + rows * seconds

    def line(self) -> tuple[float, float]:
        """Base and slope in seconds; from steps of one size alone, all of their time counts as slope.

        A slope that comes out falling, or a base below zero, is noise; then too a line through the origin
        serves, which promises large steps no more than small ones showed.
        """
        if not self._weight:
            return 0.0, 0.0
        mean_rows, mean_seconds = self._rows / self._weight, self._seconds / self._weight
        variance = self._rows_squared / self._weight - mean_rows**2
        covariance = self._rows_seconds / self._weight - mean_rows * mean_seconds
        if variance > 1e-3 * mean_rows**2 and covariance > 0:
            slope = covariance / variance
            if slope * mean_rows <= mean_seconds:
                return mean_seconds - slope * mean_rows, slope
        return 0.0, mean_seconds / mean_rows

    def rows_within(self, seconds: float) -> int | None:
        """How many decodes fit into a step of `seconds`, at least one; None when nothing is known."""
        base, slope = self.line()
        if not slope:
            return None
        return max(1, int((seconds - base) / slope))
