"""How far a worker is trusted with requests after it failed or refused some.

Held back for a moment, longer each time in a row, or on trial: one request at a time until one has brought
audio. One whose audio comes more slowly than it is heard, as over a slow link, is passed over while others
have room; now and then it gets a request, by which it is seen whether it still does.
"""

from __future__ import annotations

from collections.abc import Set

_FIRST_HOLD_SECONDS = 0.05
_LONGEST_HOLD_SECONDS = 1.0
_LATE = 1.2
"""So many times as long as it lasts may audio take."""
_TELLING_SECONDS = 4.0
"""Of audio; less of it may be late for its beginning alone."""
PASSED_OVER_SECONDS = 60.0
_FAILED_IN_A_ROW = 3
"""Requests; then a worker is suspected, whatever reason it gives."""


class Trust:
    """How far one worker is trusted."""

    def __init__(self) -> None:
        self.held = False
        """Nothing is dispatched to it just now: it had no slot, or failed a request, a moment ago."""
        self.hold_seconds = 0.0
        """How long the last hold was; zero after a request went well."""
        self.on_trial = False
        """It failed a request: one at a time is given to it until one has brought audio."""
        self.late = False
        """The last long audio came too slowly."""
        self.passed_over = False
        """Others are preferred, whatever their load."""
        self._before_trial: Set[str] = frozenset()
        """Leases that were out already when the trial began."""
        self._failed_in_a_row = 0
        """Requests that it took and failed since one of them brought audio."""

    def allows(self, leases: Set[str]) -> bool:
        """Whether it may get another request beside those with `leases`."""
        return not self.held and (not self.on_trial or leases <= self._before_trial)

    def failed(self) -> bool:
        """It failed a request; whether that were several in a row."""
        self._failed_in_a_row += 1
        return self._failed_in_a_row >= _FAILED_IN_A_ROW

    def try_out(self, leases: Set[str]) -> None:
        """The trial begins; `leases` are out already."""
        self.on_trial, self._before_trial = True, frozenset(leases)

    def proved(self) -> None:
        """It brought audio: the trial is over."""
        self.on_trial = False
        self._failed_in_a_row, self.hold_seconds = 0, 0.0

    def paced(self, seconds: float, audio_seconds: float) -> None:
        """So much audio came in so many seconds."""
        if audio_seconds >= _TELLING_SECONDS:
            self.late = seconds > _LATE * audio_seconds
            self.passed_over &= self.late

    def accepted(self) -> None:
        """It took a request: the next refusal starts with a short hold again, unless it is on trial."""
        if not self.on_trial:
            self.hold_seconds = 0.0

    def restarted(self) -> None:
        """It is a new process, which failed nothing yet."""
        self.on_trial, self._failed_in_a_row = False, 0

    def hold(self) -> float:
        """Hold it back for a moment. Returns the seconds until `end_hold`."""
        self.held = True
        return self.next_hold_seconds()

    def end_hold(self) -> None:
        """The moment is over."""
        self.held = False

    def end_pass(self) -> None:
        """It gets a request as others do, by which its pace is seen."""
        self.passed_over = False

    def next_hold_seconds(self) -> float:
        """How long a moment is now: twice the one before."""
        self.hold_seconds = min(max(2 * self.hold_seconds, _FIRST_HOLD_SECONDS), _LONGEST_HOLD_SECONDS)
        return self.hold_seconds
