"""What is said of a recording: measured as the standards say, judged by what the ear would mind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from gateway.errors import ApiError
from gateway.voices.recordings.checks import Checked, check, examine
from gateway.voices.recordings.decoding import Recording
from gateway.voices.recordings.loudness import SILENCE_LUFS, high_pass, integrated_loudness, shelf
from gateway.voices.recordings.regions import MOST_REGIONS, Region, regions_of
from tests.gateway.audio.files import RATE, ROOT, noisy_speech, speech

ENOUGH = 6.0


def recording(samples: np.ndarray, rate: int = RATE) -> Recording:
    return Recording(np.clip(samples * 32768, -32768, 32767).astype(np.int16), rate)


def codes(checked: Checked) -> set[str]:
    return {remark.code for remark in checked.checks}


def test_the_filters_are_those_of_the_standard() -> None:
    """BS.1770-4, annex 1, tables 1 and 2."""
    b, a = shelf(48_000)
    np.testing.assert_allclose(b, [1.53512485958697, -2.69169618940638, 1.19839281085285], atol=1e-12)
    np.testing.assert_allclose(a, [1.0, -1.69065929318241, 0.73248077421585], atol=1e-12)
    b, a = high_pass(48_000)
    np.testing.assert_allclose(b, [1.0, -2.0, 1.0])
    np.testing.assert_allclose(a, [1.0, -1.99004745483398, 0.99007225036621], atol=1e-12)


@pytest.mark.parametrize("rate", [16_000, 44_100, 48_000])
def test_a_full_sine_of_1_khz_is_at_minus_3_lufs(rate: int) -> None:
    """BS.1770-4: a 0 dBFS sine of 997 Hz in one channel reads -3.01 LKFS."""
    sine = np.sin(2 * np.pi * 997 * np.arange(5 * rate) / rate)
    assert integrated_loudness(sine, rate) == pytest.approx(-3.01, abs=0.05)
    assert integrated_loudness(sine / 10, rate) == pytest.approx(-23.01, abs=0.05)


def test_pauses_do_not_count() -> None:
    """The relative gate: quiet parts far below the rest are left out (EBU Tech 3341, case 3)."""
    sine = np.sin(2 * np.pi * 1000 * np.arange(60 * RATE) / RATE)
    level_db = np.full(len(sine), -33.0)
    level_db[: 10 * RATE] = level_db[-10 * RATE :] = -46.0
    audio = sine * 10 ** (level_db / 20)
    assert integrated_loudness(audio, RATE) == pytest.approx(-36.0, abs=0.1)
    assert integrated_loudness(np.zeros(RATE), RATE) == SILENCE_LUFS
    assert integrated_loudness(audio[:100], RATE) == SILENCE_LUFS


def test_a_good_recording_gives_no_cause_for_remarks() -> None:
    checked = check(recording(speech(ENOUGH)))
    assert not {remark.code for remark in checked.checks if remark.severity == "warning"}
    assert -30 < checked.loudness_lufs < -10


def test_silence_at_the_ends_is_cut_off_and_pauses_stay() -> None:
    pause = np.zeros(2 * RATE)
    audio = np.concatenate([pause, speech(3.0), pause[:RATE], speech(3.0), pause])
    checked = check(recording(audio))
    assert checked.recording.seconds == pytest.approx(7.1, abs=0.15)
    assert "trimmed" in codes(checked)
    again = check(checked.recording)
    assert np.array_equal(again.recording.samples, checked.recording.samples)


def test_the_constant_offset_of_a_microphone_is_neither_sound_nor_noise() -> None:
    pause = np.zeros(2 * RATE)
    audio = np.concatenate([pause, speech(3.0), pause, speech(3.0), pause])
    without, offset = check(recording(audio)), check(recording(audio + 0.02))
    assert codes(offset) == codes(without) == {"pauses", "trimmed"}
    assert offset.recording.seconds == without.recording.seconds


@pytest.mark.parametrize(
    ("audio", "code", "advice"),
    [
        (np.zeros(5 * RATE), "audio_silent", "microphone"),
        (np.zeros(0), "audio_silent", "microphone"),
        (speech(1.0), "audio_too_short", "at least 2 s"),
        (np.concatenate([np.zeros(4 * RATE), speech(1.0)]), "audio_too_short", "between the first and"),
        (speech(ENOUGH, level=0.004), "audio_too_quiet", "closer"),
        (np.clip(speech(ENOUGH, level=6.0), -1, 1), "audio_clipped", "turn the microphone down"),
    ],
)
def test_what_is_of_no_use_is_refused_with_advice(audio: np.ndarray, code: str, advice: str) -> None:
    with pytest.raises(ApiError) as refused:
        check(recording(audio))
    assert (refused.value.status_code, refused.value.code, refused.value.param) == (422, code, "audio")
    assert advice in refused.value.message


@pytest.mark.parametrize(
    ("audio", "rate", "code"),
    [
        (speech(3.0), RATE, "short"),
        (speech(ENOUGH, level=0.02), RATE, "quiet"),
        (speech(ENOUGH, 8_000), 8_000, "narrow_band"),
        (np.concatenate([speech(2.0), np.zeros(6 * RATE), speech(1.0)]), RATE, "pauses"),
        (speech(ENOUGH) + 0.1 * np.random.default_rng(1).standard_normal(int(ENOUGH * RATE)), RATE, "noise"),
        (np.concatenate([speech(ENOUGH), np.full(60, 1.0), speech(0.5)]), RATE, "clipping"),
    ],
)
def test_what_makes_a_poor_voice_is_said(audio: np.ndarray, rate: int, code: str) -> None:
    assert code in codes(check(recording(audio, rate)))


BUNDLED = sorted((ROOT / "models" / "voxcpm" / "bundled" / "voices").glob("*.flac"))


def through(samples: np.ndarray, rate: int, narrow: int) -> np.ndarray:
    """What is left below half of `narrow`, in a file of the former rate."""
    return soxr.resample(soxr.resample(samples, rate, narrow), narrow, rate)


@pytest.mark.parametrize("voice", BUNDLED, ids=lambda path: path.stem)
@pytest.mark.parametrize("rate", [16_000, 48_000])
def test_what_came_over_a_telephone_is_heard_whatever_rate_its_file_has(voice: Path, rate: int) -> None:
    samples, own_rate = soundfile.read(voice)
    samples = soxr.resample(samples, own_rate, rate)
    noise = 0.01 * np.random.default_rng(1).standard_normal(len(samples))
    wide = [samples, samples + noise, 0.2 * samples, through(samples, rate, 12_000)]
    narrow = [through(each, rate, 8_000) for each in wide[:3]]
    told = ["telephone" in codes(check(recording(each, rate))) for each in (*wide, *narrow)]
    assert told == [False] * 4 + [True] * 3


@pytest.mark.parametrize("voice", BUNDLED, ids=lambda path: path.stem)
def test_noise_is_told_of_from_15_db_below_the_speech_on(voice: Path) -> None:
    samples, rate = soundfile.read(voice)
    noise = np.random.default_rng(1).standard_normal(len(samples)) * np.sqrt(np.mean(samples**2))
    told = {
        below: "noise" in codes(examine(recording(samples + noise * 10 ** (-below / 20), rate)))
        for below in (10, 15, 25)
    }
    assert told == {10: True, 15: True, 25: False}


def overdriven(samples: np.ndarray, share: float, sides: str = "both") -> np.ndarray:
    """With so many of the samples cut off, and turned down then."""
    most = np.quantile(np.abs(samples), 1 - share)
    return 0.6 * np.clip(samples, -most if sides == "both" else None, most)


@pytest.mark.parametrize("voice", BUNDLED, ids=lambda path: path.stem)
@pytest.mark.parametrize("rate", [16_000, 48_000])
def test_what_was_overdriven_is_heard_also_where_it_was_turned_down(voice: Path, rate: int) -> None:
    samples, own_rate = soundfile.read(voice)
    samples = soxr.resample(samples, own_rate, rate)
    whole = [samples, 0.6 * samples, 0.1 * samples, samples / np.abs(samples).max()]
    clipped = [overdriven(samples, 0.003), overdriven(samples, 0.006, "one") + 0.01]
    told = ["clipping" in codes(examine(recording(each, rate))) for each in (*whole, *clipped)]
    assert told == [False] * 4 + [True] * 2
    assert "audio_clipped" in codes(examine(recording(overdriven(samples, 0.05), rate)))


def test_noise_that_can_be_taken_out_is_said_to_be() -> None:
    audio = recording(noisy_speech())
    advice = {}
    for cleanable in (False, True):
        (remark,) = (each for each in examine(audio, cleanable).checks if each.code == "noise")
        advice[cleanable] = remark.message
    assert advice[True] == f"{advice[False]}, or have noise taken out with denoise=true"


def where(audio: np.ndarray, code: str) -> tuple[Region, ...]:
    """The regions of a remark."""
    return next(remark.regions for remark in examine(recording(audio)).checks if remark.code == code)


def second(number: float) -> np.ndarray:
    """So much silence."""
    return np.zeros(round(number * RATE))


def test_what_is_wrong_is_found_where_it_is_in_the_recording_as_it_was_sent() -> None:
    """One second of silence before the speech is cut off, and counted all the same."""
    overdriven = np.concatenate([second(1), speech(3.0), np.full(60, 1.0), speech(4.5)])
    ((start, end),) = where(overdriven, "clipping")
    assert 4.0 <= start < end <= 4.0 + 60 / RATE + 0.001
    paused = np.concatenate([second(1), speech(3.0), second(2), speech(4.0)])
    ((start, end),) = where(paused, "long_pause")
    assert (start, end) == (pytest.approx(4.0, abs=0.15), pytest.approx(6.0, abs=0.05))
    assert where(paused, "trimmed") == (Region(0.0, pytest.approx(0.9, abs=0.03)),)
    assert examine(recording(paused)).sound_seconds == pytest.approx(7.0 * 2 / 3, abs=0.5)


def test_noise_is_shown_where_nothing_else_is_heard() -> None:
    noise = 0.03 * np.random.default_rng(1).standard_normal(8 * RATE)
    audio = noise + np.concatenate([speech(3.0), second(2), speech(3.0)])
    regions = where(audio, "noise")
    middle = sum(max(0.0, min(end, 5.0) - max(start, 3.0)) for start, end in regions)
    assert middle > 0.5 * sum(end - start for start, end in regions) > 0


def test_a_recording_of_no_use_is_described_too() -> None:
    loud = examine(recording(np.clip(speech(ENOUGH, level=6.0), -1, 1)))
    assert loud.refusal is not None and loud.refusal.code == "audio_clipped" and loud.refusal.regions
    short = examine(recording(speech(1.0)))
    assert [check.code for check in short.checks] == ["audio_too_short"]
    assert "long" in codes(examine(recording(speech(31.0))))
    assert examine(recording(speech(ENOUGH))).refusal is None


def test_regions_are_few_joined_and_in_order() -> None:
    marked = np.tile([True, False, False, False], 100)
    assert len(regions_of(marked, 0.1)) == MOST_REGIONS
    assert regions_of(marked, 0.1, join_seconds=0.5) == (Region(0.0, 39.7),)
    assert regions_of(marked, 0.1, least_seconds=0.2) == ()
    assert regions_of(np.zeros(9, bool), 0.1) == regions_of(np.zeros(0, bool), 0.1) == ()
    uneven = np.repeat([True, False, True], [1, 5, 3])
    assert regions_of(uneven, 1.0) == (Region(0.0, 1.0), Region(6.0, 9.0))
