"""An inaudible mark in speech that outlives files: put in block by block, found in a recording.

    mark = Watermark(24000)
    mark.process(pcm)               # marked, and 72 ms behind
    mark.process(b"", last=True)    # the rest
    watermark_confidence(samples, 24000)    # of float32 samples, from 0 to 1

The mark is Perth's (`gateway/audio/perth.py`): levels below 2 kHz are raised or lowered by a decibel or two.
A block of eight frames is computed with the frames before it and one after it. Blocks lie at fixed places of
the clip, so the marked clip does not depend on how its audio came in.
"""

from __future__ import annotations

import numpy as np

from gateway.audio import perth
from gateway.audio.samples import as_s16, from_s16

_BLOCK_FRAMES = 8
_FIRST_BLOCK_FRAMES = 4
"""Patches of 80 and 160 ms then end where the frame after a block does."""
_PAST_FRAMES = 8
_NEXT_FRAMES = 1
_DETECTED = 0.5
_LONGEST_SECONDS = 30
"""Seconds of audio that the detector looks at together."""


class Watermark:
    """Marks one clip. `process` gives as many samples as it got, later."""

    def __init__(self, sample_rate: int) -> None:
        """Raises WatermarkMissingError."""
        perth.networks()
        self._rate = sample_rate
        self._size, self._hop = perth.frame_sizes(sample_rate)
        self._window = _hann(self._size)
        half = self._size // 2
        self._samples = np.zeros(half, np.float32)
        """From the beginning of the next frame on; silence stands before the clip."""
        self._spectra = np.zeros((0, half + 1), np.complex64)
        """Spectra of frames that were not marked yet."""
        self._bands = np.zeros((0, perth.BANDS), np.float32)
        """Levels of the same frames, after those of some before them."""
        self._past = 0
        self._change = np.zeros(self._size, np.float32)
        self._weight = np.zeros(self._size, np.float32)
        """Sums over frames of the mark and of the windows, from the sample on that comes out next."""
        self._waiting = np.zeros(half, np.float32)
        """Samples from there on, unmarked; the silence before the clip is not given out."""
        self._skip = half
        self._block = _FIRST_BLOCK_FRAMES

    def process(self, pcm: bytes, last: bool = False) -> bytes:
        """s16le samples in; out those that are marked by now, with `last` all the rest. Takes a while."""
        samples = from_s16(pcm)
        self._waiting = np.concatenate([self._waiting, samples])
        owed = len(self._waiting)
        padding = np.zeros(2 * self._size if last else 0, np.float32)
        self._analyse(np.concatenate([samples, padding]))
        ready = [np.zeros(0, np.float32)]
        while len(self._spectra) >= self._block + _NEXT_FRAMES:
            ready.append(self._mark_block())
        if last:
            ready.append(self._waiting)
        marked = np.concatenate(ready)[:owed]
        given, self._skip = marked[self._skip :], max(self._skip - len(marked), 0)
        return as_s16(given)

    def _analyse(self, samples: np.ndarray) -> None:
        """Spectra and levels of the frames that are complete with these samples."""
        self._samples = np.concatenate([self._samples, samples])
        count = (len(self._samples) - self._size) // self._hop + 1
        if count <= 0:
            return
        frames = np.lib.stride_tricks.sliding_window_view(self._samples, self._size)[:: self._hop][:count]
        spectra = np.fft.rfft(frames * self._window).astype(np.complex64)
        self._samples = self._samples[count * self._hop :]
        self._spectra = np.concatenate([self._spectra, spectra])
        self._bands = np.concatenate([self._bands, perth.levels(spectra[:, : perth.BANDS], self._rate)])

    def _mark_block(self) -> np.ndarray:
        """Mark the next frames; the samples that no later frame reaches."""
        count, past = self._block, self._past
        self._block = _BLOCK_FRAMES
        residual = perth.residual_db(self._bands[: past + count + _NEXT_FRAMES])[past : past + count]
        spectra = np.zeros((count, self._size // 2 + 1), np.complex64)
        spectra[:, : perth.BANDS] = self._spectra[:count, : perth.BANDS] * (10 ** (residual / 20) - 1)
        changes = np.fft.irfft(spectra, self._size).astype(np.float32) * self._window
        self._spectra = self._spectra[count:]
        self._past = min(past + count, _PAST_FRAMES)
        self._bands = self._bands[past + count - self._past :]
        return self._overlap(changes)

    def _overlap(self, changes: np.ndarray) -> np.ndarray:
        """Add the changes [frames, size] of a block to the samples; those that are complete."""
        done = len(changes) * self._hop
        change = np.concatenate([self._change, np.zeros(done, np.float32)])
        weight = np.concatenate([self._weight, np.zeros(done, np.float32)])
        for index, frame in enumerate(changes):
            span = slice(index * self._hop, index * self._hop + self._size)
            change[span] += frame
            weight[span] += self._window**2
        marked = self._waiting[:done]
        marked = marked + change[: len(marked)] / np.maximum(weight[: len(marked)], 1e-3)
        self._waiting, self._change, self._weight = self._waiting[done:], change[done:], weight[done:]
        return marked


def watermark_confidence(samples: np.ndarray, sample_rate: int) -> float:
    """From 0 to 1, how sure it is that the mark is in mono samples [n]; the most of all half minutes.

    Raises WatermarkMissingError.
    """
    size, hop = perth.frame_sizes(sample_rate)
    step = _LONGEST_SECONDS * sample_rate
    found = 0.0
    for start in range(0, max(len(samples), 1), step):
        part = samples[start : start + step].astype(np.float32)
        if len(part) < sample_rate // 2 and start:
            break
        padded = np.pad(part, size // 2)
        padded = np.pad(padded, (0, max(size - len(padded), 0)))
        frames = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
        found = max(found, perth.confidence(perth.levels(np.fft.rfft(frames * _hann(size)), sample_rate)))
    return min(max(found, 0.0), 1.0)


def is_marked(confidence: float) -> bool:
    """Whether a detector's confidence means that audio is marked."""
    return confidence >= _DETECTED


def _hann(size: int) -> np.ndarray:
    """float32 [size], periodic."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)
