"""What clients report of their playback: whether what is sent arrives in time to be heard without a break.

Over a socket that speaks, after the request, at any time and as often as a client likes:

    {"type": "stats", "underruns": 0, "played_samples": 48000, "buffered_ms": 240}

`underruns` and `played_samples` are totals of the clip or session so far, at the rate of "started"; what a
report adds to the one before is counted, so that reports may be left out and repeated. `buffered_ms` is the
audio that lies ready now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.errors import from_validation
from gateway.metrics import Metrics
from gateway.operations.measurements.objectives import Kind, note, note_missed

_MAX_UNDERRUNS = 100_000
_MAX_SAMPLES = 1 << 40
_MAX_BUFFERED_MS = 600_000
_SHORTEST_SECONDS = 0.2
"""Between two reports whose buffer is counted; more frequent ones would weigh more than other clients'."""


class PlaybackReport(BaseModel):
    """One message."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    type: Literal["stats"] = "stats"
    underruns: Annotated[int, Field(ge=0, le=_MAX_UNDERRUNS)] = 0
    played_samples: Annotated[int, Field(ge=0, le=_MAX_SAMPLES)] = 0
    buffered_ms: Annotated[float, Field(ge=0, le=_MAX_BUFFERED_MS)] | None = None


class PlaybackReports:
    """The reports of one connection."""

    __slots__ = ("_clock", "_counted_at", "_is_new", "_metrics", "_model", "_played_samples", "_underruns")

    def __init__(
        self,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
        *,
        resumed: bool = False,
        model: str | None = None,
    ) -> None:
        """`resumed`: the clip was begun on another connection; what the first report says counted there.
        `model`: that was asked for.
        """
        self._model = model
        self._metrics = metrics
        self._is_new = not resumed
        self._clock = clock
        self._counted_at: float | None = None
        self._underruns = 0
        self._played_samples = 0

    def take(
        self, message: dict[str, Any], kind: Kind, sample_rate: int, sent_samples: int = _MAX_SAMPLES
    ) -> None:
        """Count what is new of what is played. `sent_samples`: nobody has played more than was sent.

        Raises ApiError: 422.
        """
        try:
            report = PlaybackReport.model_validate(message)
        except ValidationError as error:
            raise from_validation(error.errors()) from error
        metrics, now = self._metrics, self._clock()
        if self._counted_at is None and self._is_new:
            metrics.playback_clips.inc()
            note(metrics, "underruns", kind, missed=False)
        elif self._counted_at is None:
            self._underruns, self._played_samples = report.underruns, report.played_samples
        if report.underruns > self._underruns:
            if not self._underruns:
                metrics.playback_clips_with_underruns.inc()
                note_missed(metrics, "underruns", kind)
            metrics.count_underruns(report.underruns - self._underruns, self._model)
            self._underruns = report.underruns
        played_samples = min(report.played_samples, sent_samples)
        if played_samples > self._played_samples and sample_rate > 0:
            metrics.played_seconds.inc((played_samples - self._played_samples) / sample_rate)
            self._played_samples = played_samples
        if self._counted_at is None or now - self._counted_at >= _SHORTEST_SECONDS:
            self._counted_at = now
            if report.buffered_ms is not None:
                metrics.playback_buffered_seconds.observe(report.buffered_ms / 1000)
