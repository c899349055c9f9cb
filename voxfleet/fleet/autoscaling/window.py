"""What was seen lately: the input of the autoscaler, plain numbers without identities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """Requests for one model in the `seconds` before `at`, a reading of the clock of the window."""

    at: float
    seconds: float
    requests: int = 0
    """How many requests came, refused ones included."""
    audio_seconds_asked: float = 0.0
    """By them, as estimated from their texts."""
    used: float = 0.0
    """Slots in use, on average."""
    waiting: int = 0
    """Requests in line at the end."""
    longest_wait_seconds: float = 0.0
    """The longest that one of the waiting requests has waited."""
    first_audios: int = 0
    late: int = 0
    """First audios later than the objective."""
    refused: int = 0
    """For lack of capacity."""
    underruns: int = 0
    """Times that a listener had nothing to play."""


@dataclass(frozen=True, slots=True)
class KindNow:
    """Workers of one kind, now, and what they made during the window."""

    kind: str
    serving: int = 0
    loading: int = 0
    """Told to start and not serving yet."""
    draining: int = 0
    failed_starts: int = 0
    """In a row, up to now."""
    loading_seconds: float | None = None
    """As measured; None before one has loaded."""
    audio_seconds_made: float = 0.0
    slot_seconds: float = 0.0
    """Time that slots were in use."""
    unplaced: int = 0
    """How many of the loading workers wait for a machine."""


@dataclass(frozen=True, slots=True)
class ModelNow:
    """Requests for one model: samples of the last minutes, the oldest first."""

    model: str
    samples: Sequence[Sample]
    last_request_at: float = -math.inf
    last_served_at: float = -math.inf
    """When a worker of it last became ready."""
    writes: bool = False
    """It is a text model; its first audios are first tokens."""


@dataclass(frozen=True, slots=True)
class Window:
    """All that a decision depends on, beside the rules."""

    now: float
    """A reading of a clock that never jumps."""
    models: tuple[ModelNow, ...]
    kinds: tuple[KindNow, ...]
    date: float | None = None
    """Seconds since 1970, by which schedules go. None: as `now`."""
