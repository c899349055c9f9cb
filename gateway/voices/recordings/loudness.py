"""Integrated loudness of mono audio after ITU-R BS.1770-4, in LUFS.

Audio is K-weighted (annex 1: a shelf for the head, then a high-pass), its power is taken over blocks of
400 ms that overlap by three quarters, and blocks below -70 LUFS, then those 10 LU below the mean of the rest,
are left out. The standard gives the filters' coefficients for 48 kHz; for other rates they are designed from
the same analogue filters by the bilinear transform, with the constants of De Man, "Evaluation of
Implementations of the EBU R128 Loudness Measurement" (AES 2018), which give the standard's table at 48 kHz.
"""

from __future__ import annotations

import math

import numpy as np

BLOCK_SECONDS = 0.4
OVERLAP = 0.75
ABSOLUTE_GATE_LUFS = -70.0
RELATIVE_GATE_LU = -10.0
SILENCE_LUFS = ABSOLUTE_GATE_LUFS
_OFFSET_LU = -0.691
_TAIL_SECONDS = 0.5
"""After which the filters have died away: the high-pass at 38 Hz is critically damped."""

Biquad = tuple[np.ndarray, np.ndarray]
"""Coefficients b [3] and a [3], a[0] = 1."""


def integrated_loudness(samples: np.ndarray, sample_rate: int) -> float:
    """LUFS of float [n] in [-1, 1]; SILENCE_LUFS when nothing passes the gates, or it is under 0.4 s."""
    weighted = k_weighted(samples, sample_rate)
    block = round(BLOCK_SECONDS * sample_rate)
    step = round(BLOCK_SECONDS * (1 - OVERLAP) * sample_rate)
    if len(weighted) < block:
        return SILENCE_LUFS
    total = np.concatenate([[0.0], np.cumsum(weighted**2)])
    starts = np.arange(0, len(weighted) - block + 1, step)
    power = np.maximum((total[starts + block] - total[starts]) / block, 1e-12)
    loudness = _OFFSET_LU + 10 * np.log10(power)
    audible = power[loudness > ABSOLUTE_GATE_LUFS]
    if not len(audible):
        return SILENCE_LUFS
    gate = _lufs(audible) + RELATIVE_GATE_LU
    return _lufs(audible[_OFFSET_LU + 10 * np.log10(audible) > gate])


def k_weighted(samples: np.ndarray, sample_rate: int) -> np.ndarray:
    """float64 [n]: both filters, applied to the spectrum of the audio and silence after it."""
    size = _fast_size(len(samples) + round(_TAIL_SECONDS * sample_rate))
    spectrum = np.fft.rfft(samples, size)
    z = np.exp(-2j * np.pi * np.arange(len(spectrum)) / size)
    for b, a in (shelf(sample_rate), high_pass(sample_rate)):
        spectrum *= (b[0] + z * (b[1] + z * b[2])) / (a[0] + z * (a[1] + z * a[2]))
    return np.fft.irfft(spectrum, size)[: len(samples)]


def shelf(sample_rate: int) -> Biquad:
    """The first filter: about 4 dB more above 1.7 kHz."""
    frequency, gain_db, q = 1681.974450955533, 3.999843853973347, 0.7071752369554196
    k = math.tan(math.pi * frequency / sample_rate)
    high = 10 ** (gain_db / 20)
    band = high**0.4996667741545416
    a0 = 1 + k / q + k * k
    b = np.array([high + band * k / q + k * k, 2 * (k * k - high), high - band * k / q + k * k]) / a0
    return b, np.array([1.0, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0])


def high_pass(sample_rate: int) -> Biquad:
    """The second filter: less below 38 Hz."""
    frequency, q = 38.13547087602444, 0.5003270373238773
    k = math.tan(math.pi * frequency / sample_rate)
    a0 = 1 + k / q + k * k
    return np.array([1.0, -2.0, 1.0]), np.array([1.0, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0])


def _lufs(power: np.ndarray) -> float:
    return float(_OFFSET_LU + 10 * np.log10(power.mean()))


def _fast_size(least: int) -> int:
    """A length for the FFT: a power of two, or three quarters of one."""
    size = 1 << (least - 1).bit_length()
    return size * 3 // 4 if size * 3 // 4 >= least else size
