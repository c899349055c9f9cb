"""When a rank counts as hanging, by what the ranks tell of themselves.

Four times a second each rank tells its pulse. It hangs when nothing is heard of it, or when it has a step to
compute, waits for no other rank, and yet its thread takes no CPU time. A slow rank does neither: it
computes, or waits for one that does. When all wait for each other and nothing moves, the connection between
them is broken.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import NamedTuple

BEAT_SECONDS = 0.25
STILL_SECONDS = 1.4
"""Without a sign of life. With a beat and a look at it this is less than two seconds."""
START_SECONDS = 120.0
"""For a process to begin to tell: it imports PyTorch first."""
OWN_PAUSE_SECONDS = 0.5
"""Who comes to look so late was stopped itself, and cannot say that others were silent."""
LEAST_CPU_NS = 200_000
"""CPU time between two beats that counts as computing."""

_PULSE = struct.Struct("<QQ?Q")


class Pulse(NamedTuple):
    """steps: that a rank has finished. exchanges, waiting: see `group.Group`. cpu_ns: of its thread."""

    steps: int = 0
    exchanges: int = 0
    waiting: bool = False
    cpu_ns: int = 0

    def pack(self) -> bytes:
        return _PULSE.pack(*self)

    @classmethod
    def unpack(cls, data: bytes) -> Pulse:
        return cls(*_PULSE.unpack(data))

    def moved_since(self, other: Pulse) -> bool:
        return self[:2] != other[:2] or self.cpu_ns - other.cpu_ns >= LEAST_CPU_NS


class Watch:
    """Watches `size` ranks. Rank 0 looks, and is itself heard of when `look` is called."""

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, now = clock, clock()
        self._pulses = [Pulse()] * size
        self._heard, self._moved = [now + START_SECONDS] * size, [now] * size
        self._looked = now

    def beat(self, rank: int, pulse: Pulse) -> None:
        """Note the pulse that rank `rank` sent."""
        now = self._clock()
        if pulse.moved_since(self._pulses[rank]):
            self._moved[rank] = now
            self._pulses[rank] = pulse
        else:  # what it computes adds up from beat to beat
            self._pulses[rank] = pulse._replace(cpu_ns=self._pulses[rank].cpu_ns)
        self._heard[rank] = now

    def begin_step(self) -> None:
        """A step begins; no rank had to make progress before."""
        self._moved = [self._clock()] * len(self._moved)

    def look(self, steps: int | None) -> str | None:
        """What is wrong; None for nothing. steps: how many the other ranks have been given, None while rank 0
        is in none."""
        now = self._clock()
        pause, self._looked = now - self._looked, now
        if pause > OWN_PAUSE_SECONDS:
            self._heard = [heard + pause for heard in self._heard]
            self._moved = [moved + pause for moved in self._moved]
        for rank, heard in enumerate(self._heard):
            if rank and now - heard > STILL_SECONDS:  # before its first beat that is far ahead
                return f"rank {rank} has told nothing for {STILL_SECONDS} s"
        if steps is None:
            return None
        stand_still = [now - moved > STILL_SECONDS for moved in self._moved]
        for rank, pulse in enumerate(self._pulses):
            if rank and stand_still[rank] and pulse.steps < steps and not pulse.waiting:
                return f"rank {rank} hangs in a step"
        waiting = all(
            pulse.waiting for rank, pulse in enumerate(self._pulses) if rank == 0 or pulse.steps < steps
        )
        if waiting and all(stand_still):
            return "the ranks wait for each other"
        return None
