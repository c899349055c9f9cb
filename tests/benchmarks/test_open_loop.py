"""The measures of the open-loop benchmark, on samples and times that are known."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.open_loop import (
    ONSET_SAMPLES,
    SAMPLE_RATE,
    Heard,
    Load,
    Onset,
    arrivals,
    offer,
    receive,
    summary,
)

LOUD, QUIET = 1000, 50  # of 32768: -30 and -56 dBFS


def load() -> Load:
    return Load("http://127.0.0.1:1", rate=2.0, warmup=0.0, seconds=10.0, seed=1, max_seconds=4.3)


def samples(seconds: float, level: int) -> np.ndarray:
    return np.full(round(seconds * SAMPLE_RATE), level, np.int16)


def test_arrivals_are_a_poisson_process_and_the_same_for_a_seed():
    times = arrivals(10.0, 1000.0, random.Random(1))
    gaps = np.diff(times)
    assert times == arrivals(10.0, 1000.0, random.Random(1)) == sorted(times)
    assert np.mean(gaps) == pytest.approx(0.1, rel=0.05)
    assert np.std(gaps) == pytest.approx(np.mean(gaps), rel=0.05)  # as of an exponential distribution


@pytest.mark.parametrize("chunk", [7, ONSET_SAMPLES, 1000])
def test_the_first_audible_window_is_found_in_chunks_of_any_size(chunk: int):
    audio = np.concatenate([samples(0.5, QUIET), samples(0.1, LOUD)])
    onset = Onset()
    offsets = [onset.offset(audio[at : at + chunk]) for at in range(0, len(audio), chunk)]
    assert next(offset for offset in offsets if offset is not None) == round(0.5 * SAMPLE_RATE)


def test_an_audible_sample_is_heard_when_the_player_gets_to_it():
    heard, onset = Heard(lag=0.0), Onset()
    receive(heard, onset, samples(0.1, QUIET), now=0.02)
    receive(heard, onset, samples(0.1, LOUD), now=0.15)  # 0.03 s late
    assert heard.audible == pytest.approx(0.15)
    assert heard.playback.underruns == 1
    early = Heard(lag=0.0)
    receive(early, Onset(), np.concatenate([samples(0.2, QUIET), samples(0.1, LOUD)]), now=0.02)
    assert early.audible == pytest.approx(0.22)


def test_a_summary_counts_failures_silence_and_underruns_apart():
    good, failed, silent = Heard(lag=0.0), Heard(lag=0.0, error="status 503"), Heard(lag=0.001)
    receive(good, Onset(), samples(1.0, LOUD), now=0.05)
    receive(silent, Onset(), samples(1.0, QUIET), now=0.05)
    good.end = 0.5
    figures = summary(load(), [good, failed, silent])
    assert figures["errors"] == {"status 503": 1}
    assert figures["never_audible"] == 1
    assert figures["requests_with_underruns"] == 0
    assert figures["audible_ms"]["p95"] == pytest.approx(50)
    assert figures["real_time_factor_p95"] == pytest.approx(0.5)
    assert summary(load(), [failed])["audible_ms"] is None


async def test_prompts_are_asked_for_at_their_times_and_failures_are_told():
    heard = await offer(replace(load(), rate=20.0, seconds=0.5), time.time())
    assert heard and all(one.error is not None for one in heard)
