"""How loud a clip is from one hundredth of a second to the next, and where it pauses.

envelope = Envelope(24000)
envelope.add(pcm)
envelope.spans()      # [(0.31, 1.52), (1.78, 2.44)]: seconds of speech, pauses between them
"""

from __future__ import annotations

import numpy as np

FRAME_SECONDS = 0.01
_LOUD_PERCENTILE = 95
_SILENT_SHARE = 10 ** (-34 / 20)
"""Share of the level of loud frames, below which a frame is silent."""
_SHORTEST_PAUSE = 0.07
"""Seconds: what is shorter is a stop within a word."""
_SHORTEST_SPEECH = 0.03
"""Seconds: what is shorter is a click."""


class Envelope:
    """The loudness of a stretch of s16le mono samples, in 400 bytes a second."""

    def __init__(self, sample_rate: int) -> None:
        self._rate = sample_rate
        self._frame = round(FRAME_SECONDS * sample_rate)
        self._levels: list[np.ndarray] = []
        self._rest = np.zeros(0, np.int16)
        self._samples = 0

    @property
    def seconds(self) -> float:
        """Seconds of audio so far."""
        return self._samples / self._rate

    def add(self, pcm: bytes) -> None:
        """Add audio."""
        samples = np.frombuffer(pcm, "<i2")
        self._samples += len(samples)
        samples = np.concatenate([self._rest, samples])
        count = len(samples) // self._frame
        frames = samples[: count * self._frame].reshape(count, self._frame)
        self._levels.append(np.sqrt(np.mean(np.square(frames, dtype=np.float32), axis=1)))
        self._rest = samples[count * self._frame :]

    def spans(self) -> list[tuple[float, float]]:
        """Seconds between which something is said, in order; all of it for a clip that is silent."""
        levels = np.concatenate(self._levels) if self._levels else np.zeros(0, np.float32)
        loud = np.percentile(levels, _LOUD_PERCENTILE) if len(levels) else 0.0
        if not loud:
            return [(0.0, self.seconds)]
        step = self._frame / self._rate
        edges = np.flatnonzero(np.diff(np.pad(levels > loud * _SILENT_SHARE, 1).astype(np.int8)))
        pairs = edges.reshape(-1, 2).tolist()
        spans = [(start * step, min(end * step, self.seconds)) for start, end in pairs]
        return _joined(_joined(spans, _SHORTEST_PAUSE / 2), _SHORTEST_PAUSE, _SHORTEST_SPEECH)


def _joined(
    spans: list[tuple[float, float]], shortest_pause: float, shortest_speech: float = 0.0
) -> list[tuple[float, float]]:
    """Without pauses and bursts that are too short. At least one is left."""
    long = [(start, end) for start, end in spans if end - start >= shortest_speech] or spans[:1]
    found = long[:1]
    for start, end in long[1:]:
        if start - found[-1][1] < shortest_pause:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found
