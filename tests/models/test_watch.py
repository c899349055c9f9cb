"""What is wrong with speech is told at its end, and good speech is left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.voxcpm.watch import SpeechStatistics, SpeechWatch

PATCH_SECONDS, DIM, TOKENS = 0.08, 16, 40
PATCHES = 40


def good_speech(seed: int = 0, patches: int = PATCHES, noise: float = 0.8) -> np.ndarray:
    """Latents [n, 2, D] in which every frame follows from the one before it."""
    random = np.random.default_rng(seed)
    frames = [random.standard_normal(DIM)]
    for _ in range(2 * patches - 1):
        step = random.standard_normal(DIM)
        frames.append(np.sqrt(1 - noise**2) * frames[-1] + noise * step)
    return np.array(frames, np.float32).reshape(patches, 2, DIM)


@pytest.fixture(scope="module")
def statistics() -> SpeechStatistics:
    clips = [good_speech(seed, patches) for seed, patches in enumerate(range(30, 70))]
    return SpeechStatistics.fit(clips, list(range(30, 70)))


def flaw_of(
    statistics: SpeechStatistics | None,
    latents: np.ndarray,
    peaks: list[float] | float = 0.3,
    reason: str = "stop",
    tokens: int = TOKENS,
    resumed: int = 0,
) -> str:
    watch = SpeechWatch(statistics, tokens, PATCH_SECONDS, latents[:resumed] if resumed else None)
    peaks = [peaks] * len(latents) if isinstance(peaks, float) else peaks
    for patch, peak in list(zip(latents, peaks, strict=True))[resumed:]:
        watch.see(patch, peak)
    return watch.flaw(reason)


def jumping(latents: np.ndarray, strength: float = 2.0) -> np.ndarray:
    """Every patch made by itself: within it all is well, and it does not follow from the one before."""
    random = np.random.default_rng(1)
    return latents + strength * random.standard_normal((len(latents), 1, DIM)).astype(np.float32)


@pytest.mark.parametrize("seed", range(50, 90))
def test_good_speech_has_no_flaw(statistics: SpeechStatistics, seed: int) -> None:
    assert flaw_of(statistics, good_speech(seed)) == ""


def test_patches_that_do_not_follow_from_each_other_are_noisy(statistics: SpeechStatistics) -> None:
    assert flaw_of(statistics, jumping(good_speech(99))) == "noisy"


@pytest.mark.parametrize("resumed", [1, 20, 39])
def test_a_worker_that_goes_on_with_a_clip_judges_all_of_it(
    statistics: SpeechStatistics, resumed: int
) -> None:
    half = np.concatenate([jumping(good_speech(99))[:38], good_speech(98)[38:]])
    assert flaw_of(statistics, half, resumed=resumed) == flaw_of(statistics, half) == "noisy"


@pytest.mark.parametrize(("tokens", "flaw"), [(16, "long"), (36, ""), (44, ""), (90, "short")])
def test_speech_is_as_long_as_its_text_lets_expect(
    statistics: SpeechStatistics, tokens: int, flaw: str
) -> None:
    assert flaw_of(statistics, good_speech(7, patches=42), tokens=tokens) == flaw


def test_a_length_that_was_asked_for_is_no_flaw(statistics: SpeechStatistics) -> None:
    assert flaw_of(statistics, good_speech(7), tokens=90, reason="length") == ""
    assert flaw_of(statistics, good_speech(7), tokens=0) == ""


@pytest.mark.parametrize("known", [True, False])
def test_with_and_without_statistics_the_sound_is_judged(statistics: SpeechStatistics, known: bool) -> None:
    of = statistics if known else None
    speech = good_speech(5)
    assert flaw_of(of, speech, 0.0005) == "silent"
    assert flaw_of(of, speech, 0.005) == "quiet"
    assert flaw_of(of, speech, [1.0] * 8 + [0.4] * 32) == "clipped"
    assert flaw_of(of, speech, [1.0] * 2 + [0.4] * 38) == ""
    assert flaw_of(of, speech, [0.0] * 30 + [0.4] * 10) == ""
    assert flaw_of(of, speech, reason="runaway") == "long"


def test_the_same_sound_for_a_second_is_a_repetition_and_silence_is_none() -> None:
    speech = good_speech(5)
    speech[10:24] = speech[10]
    assert flaw_of(None, speech) == "repeated"
    assert flaw_of(None, speech, [0.3] * 10 + [0.0] * 14 + [0.3] * 16) == ""
    speech = good_speech(5)
    speech[10:20] = speech[10]
    assert flaw_of(None, speech) == ""


def test_statistics_survive_their_file_and_others_are_refused(
    statistics: SpeechStatistics, tmp_path: Path
) -> None:
    assert SpeechStatistics.load(tmp_path) is None
    statistics.save(tmp_path / "watch.npz")
    loaded = SpeechStatistics.load(tmp_path)
    speech = good_speech(5)
    assert loaded.surprise(speech) == pytest.approx(statistics.surprise(speech), rel=0.01)
    assert loaded.expected_patches(40) == pytest.approx(statistics.expected_patches(40), rel=0.01)
    other = SpeechStatistics(statistics.transition[1:], statistics.whitener, 1.0, 0.0)
    other.save(tmp_path / "watch.npz")
    with pytest.raises(ValueError, match="do not go together"):
        SpeechStatistics.load(tmp_path)
