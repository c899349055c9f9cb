"""What is wrong with speech is told at its end, and good speech is left alone."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.voxcpm.watch.statistics import STEPS_A_PAUSE, RunningSurprise, SpeechStatistics
from models.voxcpm.watch.watch import LOOK_PATCHES, SpeechWatch
from tests.models.watch.clips import DIM, PATCH_SECONDS, TOKENS, good_speech


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
    pauses: int = 0,
) -> str:
    before = latents[:resumed] if resumed else None
    watch = SpeechWatch(statistics, tokens, PATCH_SECONDS, before, pauses=pauses)
    peaks = [peaks] * len(latents) if isinstance(peaks, float) else peaks
    for patch, peak in list(zip(latents, peaks, strict=True))[resumed:]:
        watch.see(patch, peak)
    return watch.flaw(reason)


def jumping(latents: np.ndarray, strength: float = 2.0) -> np.ndarray:
    """Every patch made by itself: within it all is well, and it does not follow from the one before."""
    random = np.random.default_rng(1)
    return latents + strength * random.standard_normal((len(latents), 1, DIM)).astype(np.float32)


def test_a_clip_whose_length_was_asked_for_may_be_a_word_and_silence() -> None:
    latents, peaks = good_speech(7), [0.3, *[0.0] * (len(good_speech(7)) - 1)]
    assert flaw_of(None, latents, peaks) == "silent"
    assert flaw_of(None, latents, peaks, tokens=0) != "silent"
    assert flaw_of(None, latents, 0.0, tokens=0) == "silent"


@pytest.mark.parametrize("seed", range(50, 90))
def test_good_speech_has_no_flaw(statistics: SpeechStatistics, seed: int) -> None:
    assert flaw_of(statistics, good_speech(seed)) == ""


def test_patches_that_do_not_follow_from_each_other_are_noisy(statistics: SpeechStatistics) -> None:
    assert flaw_of(statistics, jumping(good_speech(99))) == "noisy"


@pytest.mark.parametrize("seed", range(50, 60))
def test_a_single_step_that_does_not_follow_is_no_noise(seed: int) -> None:
    """As between two short sentences, where the latents of a pause go over to those of the next words, in
    directions in which speech hardly moves.
    """
    still = np.where(np.arange(DIM) == 0, 0.1, 1.0).astype(np.float32)
    clips = [still * good_speech(number, patches) for number, patches in enumerate(range(30, 70))]
    statistics = SpeechStatistics.fit(clips, list(range(30, 70)))
    speech = still * good_speech(seed, 18)
    speech[7, 0, 0] += 1.5
    assert flaw_of(statistics, speech, tokens=18) == "" and told(statistics, speech, tokens=18) is None
    assert flaw_of(statistics, jumping(speech), tokens=18) == "noisy"


def test_a_step_behind_each_pause_of_the_text_may_not_follow(statistics: SpeechStatistics) -> None:
    speech, spoilt = good_speech(98, 18), jumping(good_speech(99))
    speech[3::3, 0] *= -3
    assert flaw_of(statistics, speech, tokens=18) == "noisy"
    assert flaw_of(statistics, speech, tokens=18, pauses=3) == ""
    assert flaw_of(statistics, spoilt, pauses=20) == "noisy"


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


def test_silence_between_the_sentences_of_a_text_is_not_too_long(statistics: SpeechStatistics) -> None:
    speech = good_speech(7, patches=42)
    words, breaks = [0.3] * 13, [0.0] * 8
    spoken, babbled = [0.0, *words, *breaks[1:], *words, *breaks], [0.3] * 42
    assert flaw_of(statistics, speech, spoken, tokens=16) == "long"
    assert flaw_of(statistics, speech, spoken, tokens=16, pauses=2) == ""
    assert flaw_of(statistics, speech, babbled, tokens=16, pauses=2) == "long"
    lasting = good_speech(7, patches=60)
    assert flaw_of(statistics, lasting, [*spoken, *[0.0] * 18], tokens=16, pauses=2) == "long"


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


def told(
    statistics: SpeechStatistics | None,
    latents: np.ndarray,
    peaks: list[float] | float = 0.3,
    tokens: int = TOKENS,
    resumed: int = 0,
) -> tuple[int, str] | None:
    """With which patch a flaw is told before the end; the first ones may have been made elsewhere."""
    peaks = [peaks] * len(latents) if isinstance(peaks, float) else peaks
    silent = [peak < 0.001 for peak in peaks[:resumed]]
    ends = [next((n for n, it in enumerate(reversed(silent)) if it != quiet), resumed) for quiet in (1, 0)]
    before = latents[:resumed] if resumed else None
    watch = SpeechWatch(statistics, tokens, PATCH_SECONDS, before, (sum(silent), *ends))
    found = [(n, watch.see(latents[n], peaks[n])) for n in range(resumed, len(latents))]
    flaws = [(n, flaw) for n, flaw in found if flaw]
    assert len(flaws) < 2
    return flaws[0] if flaws else None


@pytest.mark.parametrize("seed", range(50, 60))
def test_of_good_speech_nothing_is_told_before_its_end(statistics: SpeechStatistics, seed: int) -> None:
    assert told(statistics, good_speech(seed)) is None
    assert told(statistics, good_speech(seed), [0.0] * 10 + [0.4] * 30) is None
    assert told(None, good_speech(seed), 1.0) is None


def test_who_speaks_otherwise_than_the_fitted_voices_is_judged_by_an_example(
    statistics: SpeechStatistics,
) -> None:
    strange, spoilt = jumping(good_speech(98), 1.0), jumping(good_speech(99), 4.0)
    examples = [jumping(good_speech(97), 1.0), good_speech(97)]
    assert flaw_of(statistics, strange) == "noisy"
    watches = [SpeechWatch(statistics, TOKENS, PATCH_SECONDS, examples=examples) for _ in range(2)]
    told = [
        [watch.see(patch, 0.3) for patch in it] for watch, it in zip(watches, (strange, spoilt), strict=True)
    ]
    assert [any(flaws) for flaws in told] == [False, True]
    assert [watch.flaw("stop") for watch in watches] == ["", "noisy"]


def test_noise_is_not_told_of_speech_with_other_guidance(statistics: SpeechStatistics) -> None:
    watch = SpeechWatch(statistics, TOKENS, PATCH_SECONDS, as_fitted=False)
    assert not any(watch.see(patch, 0.3) for patch in jumping(good_speech(99)))
    assert watch.flaw("stop") == ""
    assert SpeechWatch(statistics, 16, PATCH_SECONDS, good_speech(7), as_fitted=False).flaw("stop") == "long"


def stuck(first: int) -> np.ndarray:
    speech = good_speech(5)
    speech[first : first + 16] = speech[first]
    return speech


CASES = {
    "noisy": (jumping(good_speech(99)), 0.3, TOKENS, "noisy"),
    "noisy later": (np.concatenate([good_speech(98)[:9], jumping(good_speech(99))]), 0.3, TOKENS, "noisy"),
    "silent": (good_speech(5), 0.0, TOKENS, "silent"),
    "long": (good_speech(5, patches=60), 0.3, 20, "long"),
    "repeated": (stuck(9), 0.3, TOKENS, "repeated"),
    "repeated after a pause": (stuck(9), [0.0] * 9 + [0.3] * 31, TOKENS, "repeated"),
    "a pause of one sound": (stuck(9), [0.3] * 9 + [0.0] * 16 + [0.3] * 15, TOKENS, ""),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_is_told_with_the_same_patch_whoever_made_those_before(
    statistics: SpeechStatistics, case: str
) -> None:
    speech, peaks, tokens, flaw = CASES[case]
    found = told(statistics, speech, peaks, tokens)
    assert (found[1] if found else "") == flaw
    assert found is None or found[0] < len(speech) - 5
    for resumed in range(found[0] + 1 if found else len(speech)):
        assert told(statistics, speech, peaks, tokens, resumed) == found


def test_the_surprise_of_a_growing_speech_is_that_of_the_whole(statistics: SpeechStatistics) -> None:
    for patches in range(2, 30):
        speech = good_speech(patches, patches)
        running, whole = RunningSurprise(statistics), statistics.surprise(speech)
        for seen in range(2, patches + 1, 3):
            running.of(list(speech[:seen]), LOOK_PATCHES)
        assert running.of(list(speech), LOOK_PATCHES) == pytest.approx(whole, rel=1e-4)


def by_all_errors(statistics: SpeechStatistics, speech: np.ndarray, pauses: int) -> float:
    """What is said of a speech by its definition: the most surprising steps left out of all of them."""
    steps = np.sort(statistics.errors(speech))
    return float(
        steps[: len(steps) - min(pauses, len(steps) // STEPS_A_PAUSE)].mean() / np.square(speech).mean()
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 99), st.integers(2, 80), st.integers(0, 20), st.lists(st.integers(1, 15), max_size=20))
def test_what_pauses_leave_out_is_the_same_however_a_speech_grows(
    statistics: SpeechStatistics, seed: int, patches: int, pauses: int, growth: list[int]
) -> None:
    speech = jumping(good_speech(seed, patches), strength=seed / 50)
    grown, once = RunningSurprise(statistics, pauses), RunningSurprise(statistics, pauses)
    for seen in itertools.accumulate(growth, initial=2):
        grown.of(list(speech[: min(seen, patches)]), LOOK_PATCHES)
    told = once.of(list(speech), LOOK_PATCHES)
    assert grown.of(list(speech), LOOK_PATCHES) == told
    assert told == pytest.approx(by_all_errors(statistics, speech, pauses), rel=1e-4)


def test_a_look_at_a_long_speech_keeps_no_list_of_its_steps(statistics: SpeechStatistics) -> None:
    speech = list(good_speech(1, 600))
    running = RunningSurprise(statistics, 3)
    running.of(speech, LOOK_PATCHES)
    kept, others, steps = running._errors
    assert (len(kept), steps) == (3, 599)
    assert others > 0.0


def test_silence_without_a_sound_surprises_nobody(statistics: SpeechStatistics) -> None:
    nothing = np.zeros_like(good_speech(1, 20))
    assert statistics.surprise(nothing) == 0.0
    assert RunningSurprise(statistics).of(list(nothing), LOOK_PATCHES) == 0.0
    SpeechWatch(statistics, 20, 0.16, examples=[nothing])


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
