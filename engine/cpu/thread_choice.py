"""How many threads an engine on the CPU computes with, chosen again while it runs.

All threads of a step meet some thousand times. When somebody else takes a CPU, each meeting waits until the
operating system gives the thread without one its turn: two threads beside one busy process are ten times
slower than one. So the thread that runs the steps compares the time that passed with the time that it
computed:

    choice = ThreadChoice(limit=4)
    began = choice.clock()
    ...                                                    # a step with choice.threads threads
    choice.observe(began, choice.clock(), computing_seconds)

Where it waited for more than a quarter of the time, half of the threads go. One comes back when the CPUs have
been idle enough for it. Two threads, of which one computes beside the other, meet once a step: next to one or
two busy processes they are as fast as one or faster, and stay unless they wait for half of the time. Two that
meet like more do (`two_meet`) part as more do. The number of threads changes no bit of a clip or an answer:
`engine/cpu/threads.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

CROWDED_SHARE, CROWDED_SHARE_OF_TWO = 0.25, 0.5
"""Share of the time of steps: waiting beyond this means that somebody else has the CPUs."""
CROWDED_SECONDS, CROWDED_SECONDS_OF_TWO = 0.1, 0.5
"""How much step time that share is taken over, at least."""
GROWTH_WINDOW_SECONDS = 0.5
FREE_CPUS_TO_GROW, FREE_CPUS_TO_SHARE, FREE_CPUS_TO_MEET = 1.25, 0.6, 0.8
"""CPUs that must have been idle beside us: one to take, and some for the gateway. A second thread that
computes beside the first (`StepThreads.beside`) takes about half of one, since one of them rests meanwhile.
A second one that meets it takes what is left of two CPUs, where the gateway and others need little."""
FIRST_HOLD_SECONDS, LONGEST_HOLD_SECONDS = 2.0, 60.0
"""How long to stay after threads were given up; twice as long each time that growing was wrong."""
GAP_SECONDS = 0.1
"""A longer pause between two steps begins both windows anew."""


class ThreadChoice:
    """Follows the steps of one engine; `threads` is what the next one should use.

    Args:
        limit: threads at most.
        clock: seconds.
        idle_seconds: idle time of all CPUs so far, summed, or None where the system does not tell.
        two_meet: whether two threads meet at every operator, as more do.
    """

    def __init__(
        self,
        limit: int,
        clock: Callable[[], float] = time.monotonic,
        idle_seconds: Callable[[], float | None] | None = None,
        *,
        two_meet: bool = False,
    ) -> None:
        self.limit, self.threads = limit, limit
        self._two_meet = two_meet
        self.clock = clock
        self._idle_seconds = idle_seconds or cpu_idle_seconds
        self._hold_seconds = FIRST_HOLD_SECONDS
        self._held_until = -1e9
        self._grew_at: float | None = None
        self._last_end = -1e9
        self._stepping = self._computing = 0.0
        self._window: tuple[float, float | None] = (-1e9, None)

    def observe(
        self, began: float, ended: float, computing_seconds: float, ready_seconds: float | None = None
    ) -> None:
        """Takes note of a step: when it began and ended, and the CPU time of the threads that ran it.

        ready_seconds: that these threads could have computed, were there CPUs; one thread from begin to end
            by default.
        """
        if self.limit == 1:
            return
        if began - self._last_end > GAP_SECONDS:
            self._stepping = self._computing = 0.0
            self._window = (began, self._idle_seconds())
        self._last_end = ended
        self._stepping += ended - began if ready_seconds is None else ready_seconds
        self._computing += computing_seconds
        share, seconds = CROWDED_SHARE, CROWDED_SECONDS
        if self.threads == 2 and not self._two_meet:
            share, seconds = CROWDED_SHARE_OF_TWO, CROWDED_SECONDS_OF_TWO
        if self._stepping >= seconds:
            waiting_share = 1 - self._computing / self._stepping
            self._stepping = self._computing = 0.0
            if waiting_share > share and self.threads > 1:
                self._shrink(ended)
        if ended - self._window[0] >= GROWTH_WINDOW_SECONDS:
            self._grow_if_free(ended)

    def _shrink(self, now: float) -> None:
        grew_wrongly = self._grew_at is not None and now - self._grew_at < LONGEST_HOLD_SECONDS
        self._hold_seconds = (
            min(2 * self._hold_seconds, LONGEST_HOLD_SECONDS) if grew_wrongly else FIRST_HOLD_SECONDS
        )
        self._held_until = now + self._hold_seconds
        self.threads //= 2
        self._window = (now, self._idle_seconds())

    def _grow_if_free(self, now: float) -> None:
        began, idle_before = self._window
        idle = self._idle_seconds()
        self._window = (now, idle)
        if self.threads >= self.limit or now < self._held_until:
            return
        second = FREE_CPUS_TO_MEET if self._two_meet else FREE_CPUS_TO_SHARE
        needed = second if self.threads == 1 else FREE_CPUS_TO_GROW
        if idle is None or idle_before is None or (idle - idle_before) / (now - began) >= needed:
            self.threads += 1
            self._grew_at = now


def cpu_idle_seconds(stat: Path = Path("/proc/stat")) -> float | None:
    """Idle time since the machine started, summed over the CPUs that this process may use."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    ours = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    try:
        lines = [line.split() for line in stat.read_text(encoding="ascii").splitlines()]
    except OSError:
        return None
    ticks = [int(line[4]) + int(line[5]) for line in lines if line and line[0] in ours]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None
