"""Patience with requirements that no worker can meet at the moment, in case one comes back."""

from __future__ import annotations

from collections.abc import Callable

from gateway.errors import ApiError
from gateway.slots.line.positions import CallLater
from gateway.slots.requirement import Requirement


class GracePeriod:
    """Looks again at what cannot be served after a while, and gives it up when it still cannot."""

    def __init__(
        self,
        seconds: float,
        call_later: CallLater,
        why_unservable: Callable[[Requirement], ApiError | None],
        give_up: Callable[[Requirement, ApiError], None],
    ) -> None:
        self._seconds = seconds
        self._call_later = call_later
        self._why_unservable = why_unservable
        self._give_up = give_up
        self._watched: set[Requirement] = set()

    def watch(self, requirement: Requirement) -> None:
        """Start the period if nobody can serve the requirement; what nobody has gets none."""
        if requirement not in self._watched and (problem := self._why_unservable(requirement)):
            self._watched.add(requirement)
            delay_seconds = self._seconds if problem.status_code == 503 else 0.0
            self._call_later(delay_seconds, lambda: self._end(requirement))

    def _end(self, requirement: Requirement) -> None:
        self._watched.discard(requirement)
        if problem := self._why_unservable(requirement):
            self._give_up(requirement, problem)
