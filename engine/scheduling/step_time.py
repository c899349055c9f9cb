"""How long n rows of a step take, decodes or positions of prompts, learned from the steps that were run.

Rows cost something however many there are (weights are read, kernels launched) and something each, so
`seconds = base + slope * rows` is fitted by least squares, in which old steps count less and less: after
steps of 32 rows in 20 ms and of 96 rows in 36 ms, a budget of 28 ms has room for 64 rows. `StepPace` has one
such line for decodes, from the steps without prompts, and one for what prompts add to the others.
"""

from __future__ import annotations

MEMORY = 0.98
"""Weight of what was known against each new step; a change of pace is learned within some 50 steps."""


class StepTimeModel:
    """The fit; nothing is known before the first step."""

    def __init__(self) -> None:
        self._weight = self._rows = self._seconds = self._rows_squared = self._rows_seconds = 0.0

    def observe(self, rows: int, seconds: float) -> None:
        """Takes `rows` rows that took `seconds` into account."""
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

    def seconds_for(self, rows: int) -> float:
        """What so many rows take; 0 when nothing is known."""
        base, slope = self.line()
        return base + slope * rows

    def rows_within(self, seconds: float) -> int | None:
        """How many rows fit into `seconds`, at least one; None when nothing is known."""
        base, slope = self.line()
        if not slope:
            return None
        return max(1, int((seconds - base) / slope))


class StepPace:
    """What decodes and prompts take of a step."""

    def __init__(self) -> None:
        self.decodes, self.prompts = StepTimeModel(), StepTimeModel()

    def observe(self, decodes: int, positions: int, seconds: float) -> None:
        """Learns from a step of so many decodes and positions of prompts."""
        if not positions:
            self.decodes.observe(decodes, seconds)
        else:
            self.prompts.observe(positions, max(0.0, seconds - self.decodes.seconds_for(decodes)))

    def positions_within(self, seconds: float, decodes: int) -> int:
        """Positions of prompts that fit into `seconds` beside so many decodes, as far as is known."""
        base, slope = self.prompts.line()
        spare = seconds - self.decodes.seconds_for(decodes) - base
        return int(spare / slope) if slope and spare > 0 else 0
