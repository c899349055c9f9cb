"""What can be measured of a spoken clip: wrong words, pitch, length, the largest jump of the waveform.

Clips are float32 [samples] in [-1, 1] at 16 kHz.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from gateway.text import normalise
from models.voxcpm.training.speech.teachers import SILENT_BELOW, trim

SAMPLE_RATE = 16_000
VOICED_CORRELATION = 0.6
LOUD_END = 0.25
"""Of the clip's own level: speech that is this loud in the last moment did not end there."""
SLOWEST, SLOWEST_START = 0.2, 1.5
"""Seconds a character, and besides: whoever needs more than both babbles or has fallen silent."""


def plain_words(text: str) -> str:
    """Lower-case words alone, as both sides of a comparison are written.

    Figures and abbreviations are put into words, since a listener writes "20" for "twenty". Letters that are
    spelt stand together: "U.S.A.", "u s a" and "USA" are one word.
    """
    words = re.sub(r"[^a-z' ]", " ", normalise(text, "en").text.lower().replace("-", " "))
    return re.sub(r"\b(?:[a-z] )+[a-z]\b", lambda found: found[0].replace(" ", ""), " ".join(words.split()))


def transcribe(clips: Sequence[np.ndarray]) -> list[str]:
    """Words that pocketsphinx hears in each clip, for tests; empty where it hears nothing."""
    from pocketsphinx import Decoder

    decoder = Decoder(samprate=SAMPLE_RATE, loglevel="FATAL")
    heard = []
    for clip in clips:
        pcm = np.clip(np.rint(clip * 32767), -32768, 32767).astype("<i2").tobytes()
        decoder.reinit_feat()
        decoder.start_utt()
        if pcm:
            decoder.process_raw(pcm, False, True)
        decoder.end_utt()
        hypothesis = decoder.hyp()
        heard.append(hypothesis.hypstr if hypothesis else "")
    return heard


def compared_words(text: str, heard: str) -> tuple[str, str]:
    """Both sides of a comparison in plain words, without differences that nobody can hear.

    What one side writes as one word and the other as two is one word: "seashells" and "sea shells".
    """
    words, other = plain_words(text).split(), plain_words(heard).split()
    return " ".join(_joined(words, other)), " ".join(_joined(other, words))


def _joined(words: Sequence[str], other: Sequence[str]) -> list[str]:
    """`words`, and neighbours among them in one where `other` has them in one, and never in two."""
    apart, together = set(pairwise(other)), set(other)
    found: list[str] = []
    before = ""
    for word in words:
        if before and before + word in together and (before, word) not in apart:
            found[-1], before = before + word, ""
        else:
            found.append(word)
            before = word
    return found


def word_error_rate(texts: Iterable[str], heard: Iterable[str]) -> float:
    """Errors per word over all sentences together."""
    import jiwer

    pairs = [compared_words(text, words) for text, words in zip(texts, heard, strict=True)]
    return float(jiwer.wer([text for text, _ in pairs], [words for _, words in pairs]))


def median_pitch(samples: np.ndarray, lowest_hz: float = 60.0, highest_hz: float = 350.0) -> float:
    """Median fundamental frequency of the voiced frames of 50 ms in Hz, by normalised autocorrelation.

    Returns nan when no frame is voiced (audible, with a correlation peak above VOICED_CORRELATION).
    """
    width, hop = int(0.05 * SAMPLE_RATE), int(0.02 * SAMPLE_RATE)
    if len(samples) < width:
        return float("nan")
    frames = np.lib.stride_tricks.sliding_window_view(samples, width)[::hop].astype(np.float64)
    frames = frames - frames.mean(axis=1, keepdims=True)
    loudness = np.sqrt((frames**2).mean(axis=1))
    frames = frames[loudness > 0.3 * np.percentile(loudness, 90)]
    if not len(frames):
        return float("nan")
    correlation = np.fft.irfft(np.abs(np.fft.rfft(frames, 2 * width)) ** 2)[:, :width]
    correlation /= (correlation[:, :1] + 1e-12) * (1 - np.arange(width) / width)
    first, last = int(SAMPLE_RATE / highest_hz), int(SAMPLE_RATE / lowest_hz)
    window = correlation[:, first:last]
    # The first peak nearly as high as the highest, so that two periods are not taken for one.
    near = first + (window > 0.9 * window.max(axis=1, keepdims=True)).argmax(axis=1)
    lags = [lag + int(np.argmax(row[lag : lag + 8])) for lag, row in zip(near, correlation, strict=True)]
    voiced = window.max(axis=1) > VOICED_CORRELATION
    exact = [_peak(row, lag) for row, lag in zip(correlation[voiced], np.array(lags)[voiced], strict=True)]
    return float(np.median(SAMPLE_RATE / np.array(exact))) if exact else float("nan")


def _peak(values: np.ndarray, at: int) -> float:
    """Where the parabola through `at` and its neighbours is highest: a lag between two samples."""
    before, here, after = values[at - 1], values[at], values[min(at + 1, len(values) - 1)]
    bend = before - 2 * here + after
    return float(at + np.clip(0.5 * (before - after) / bend, -0.5, 0.5)) if bend < 0 else float(at)


def largest_jump(samples: np.ndarray) -> float:
    """Largest difference between neighbouring samples: a click is a jump that no voice makes."""
    return float(np.abs(np.diff(samples)).max()) if len(samples) > 1 else 0.0


def spoken_seconds(samples: np.ndarray) -> float:
    """Length without the silence before and after."""
    return len(trim(32768 * samples, SILENT_BELOW, 0, 0)) / SAMPLE_RATE


def longest_pause(samples: np.ndarray) -> float:
    """Seconds of the longest silence between two sounds."""
    loud = np.flatnonzero(np.abs(samples) > SILENT_BELOW / 32768)
    return float(np.diff(loud).max()) / SAMPLE_RATE if len(loud) > 1 else 0.0


def is_silent(samples: np.ndarray) -> bool:
    """Whether there is less than a tenth of a second of sound."""
    return int((np.abs(samples) > SILENT_BELOW / 32768).sum()) < 0.02 * SAMPLE_RATE or (
        spoken_seconds(samples) < 0.1
    )


def is_cut(samples: np.ndarray) -> bool:
    """Whether a clip ends in the middle of a sound: its last 30 ms are nearly as loud as its speech."""
    spoken, end = samples[np.abs(samples) > 0.02], samples[-int(0.03 * SAMPLE_RATE) :]
    return bool(len(spoken)) and _level(end) > LOUD_END * _level(spoken)


def _level(samples: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))


def is_too_long(text: str, samples: np.ndarray) -> bool:
    """Whether a clip takes far longer than anybody takes for its text."""
    return len(samples) / SAMPLE_RATE > SLOWEST_START + SLOWEST * len(text)
