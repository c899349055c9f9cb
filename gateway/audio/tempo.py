"""Speech that is slower or faster at the same pitch, as it comes in: FFmpeg's `atempo`.

    tempo = Tempo(24000, 1.5)
    tempo.process(pcm)               # what is ready; some 50 ms of input are held back, 200 ms at four times
    tempo.process(b"", last=True)    # the rest

`atempo` overlaps pieces of the signal where their waveforms agree (WSOLA), so that neither pitch nor waveform
breaks at a seam. One filter goes from half to twice the speed, two in a row from a quarter to four times.
"""

from __future__ import annotations

import math
from fractions import Fraction

import av
import numpy as np

_FILTER_RANGE = (0.5, 2.0)
_FLUSH_SECONDS = 0.25
"""Of silence after the end, at the listener's speed: the filters give out nothing that is shorter than their
window, and slow ones lose the end of it.
"""
_SLACK_SECONDS = 0.005
"""Seams lie where waveforms agree, so that the end comes a few milliseconds early or late."""


class Tempo:
    """Changes the speed of one clip of s16le mono samples; nothing is done at speed 1."""

    def __init__(self, sample_rate: int, speed: float) -> None:
        """`speed`: from 0.25 to 4."""
        self._rate = sample_rate
        self._speed = speed
        self._graph = _graph(sample_rate, speed) if speed != 1 else None
        self._taken = self._given = 0

    def process(self, pcm: bytes, last: bool = False) -> bytes:
        """What is ready after `pcm`; with `last`, all the rest."""
        if self._graph is None:
            return pcm
        self._push(np.frombuffer(pcm, dtype="<i2"))
        if not last:
            return self._pull()
        length = math.ceil(self._taken / self._speed + _SLACK_SECONDS * self._rate) if self._taken else 0
        left = 2 * (length - self._given)
        self._push(np.zeros(math.ceil(_FLUSH_SECONDS * self._speed * self._rate), "<i2"))
        self._graph.push(None)
        return self._pull()[:left]

    def _push(self, samples: np.ndarray) -> None:
        if not len(samples):
            return
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis], format="s16", layout="mono")
        frame.sample_rate, frame.time_base, frame.pts = self._rate, Fraction(1, self._rate), self._taken
        self._taken += len(samples)
        self._graph.push(frame)

    def _pull(self) -> bytes:
        pieces = []
        while True:
            try:
                pieces.append(self._graph.pull().to_ndarray().astype("<i2").tobytes())
            except (av.error.BlockingIOError, av.error.EOFError):
                break
        ready = b"".join(pieces)
        self._given += len(ready) // 2
        return ready


def _graph(sample_rate: int, speed: float) -> av.filter.Graph:
    graph = av.filter.Graph()
    last = graph.add_abuffer(
        sample_rate=sample_rate, format="s16", layout="mono", time_base=Fraction(1, sample_rate)
    )
    slowest, fastest = _FILTER_RANGE
    stages = [speed] if slowest <= speed <= fastest else [math.sqrt(speed)] * 2
    for stage in stages:
        following = graph.add("atempo", repr(stage))
        last.link_to(following)
        last = following
    last.link_to(graph.add("abuffersink"))
    graph.configure()
    return graph
