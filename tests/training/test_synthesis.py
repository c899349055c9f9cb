"""Speech read aloud: levels, silences, and the files that a reader follows while they grow."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from models.voxcpm.training.recipe import Recipe
from models.voxcpm.training.speech import synthesis
from models.voxcpm.training.speech.dataset import SpeechStore
from models.voxcpm.training.speech.flite import VOICES
from models.voxcpm.training.speech.synthesis import UTTERANCES_OF_A_STRANGER, utterance_speakers
from models.voxcpm.training.speech.teachers import (
    LEAD_SAMPLES,
    SILENT_BELOW,
    SPEECH_RATE,
    TAIL_SAMPLES,
    TARGET_RMS,
    Speaker,
    Teachers,
    levelled,
    livelier,
    shifted,
    tilted,
    trim,
)
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines, shingles

TEXT = "The farmer saw the village at dawn."


def test_every_voice_speaks_at_one_level_between_equal_silences(teachers: Teachers) -> None:
    levels = {}
    for voice in VOICES:
        samples = teachers.read(TEXT, Speaker(voice), random.Random(0)).astype(float)
        loud = np.abs(samples) > 0.05 * np.abs(samples).max()
        levels[voice] = np.sqrt(np.mean(samples[loud] ** 2))
        assert np.abs(samples[:LEAD_SAMPLES]).max() <= SILENT_BELOW
        assert np.abs(samples[-TAIL_SAMPLES:]).max() <= SILENT_BELOW
    assert max(levels.values()) < 1.1 * min(levels.values())
    assert min(levels.values()) == pytest.approx(TARGET_RMS, rel=0.1)


def test_silence_is_trimmed_and_nothing_but_silence_becomes_empty() -> None:
    samples = np.zeros(20_000, np.int16)
    assert len(trim(samples, 200)) == len(levelled(samples.astype(np.float32))) == 0
    samples[[9_000, 9_999]] = 1000
    assert len(trim(samples, 200)) == 1_000 + LEAD_SAMPLES + TAIL_SAMPLES
    assert len(trim(samples[9_000:10_000], 200)) == len(trim(samples, 200))


def test_a_livelier_melody_moves_further_from_its_median_and_stays_silent_where_it_was() -> None:
    contour = np.array([0.0, 100.0, 200.0, 400.0, 0.0])
    assert livelier(contour, 1.0) is contour
    assert livelier(contour, 0.5) == pytest.approx([0, 200 / 2**0.5, 200, 200 * 2**0.5, 0])
    assert livelier(contour, 0.0) == pytest.approx([0, 200, 200, 200, 0])
    assert not livelier(np.zeros(3), 1.4).any()


def test_tilt_counts_decibels_for_each_octave_above_one_kilohertz() -> None:
    envelope = np.ones((2, 13))  # a bin for each kilohertz
    decibels = 10 * np.log10(tilted(envelope, 3.0))
    assert decibels[:, [0, 1, 2, 4, 8]] == pytest.approx(np.tile([0, 0, 3, 6, 9], (2, 1)))
    assert tilted(envelope, 0.0) is envelope


def test_playing_speech_faster_moves_formants_and_pitch_together() -> None:
    tone = np.sin(2 * np.pi * 200 * np.arange(SPEECH_RATE) / SPEECH_RATE).astype(np.float32)
    faster = shifted(tone, Speaker("heart", formants=1.25, pitch=1.25))
    assert len(faster) == pytest.approx(SPEECH_RATE / 1.25, abs=2)
    assert np.argmax(np.abs(np.fft.rfft(faster))) * SPEECH_RATE / len(faster) == pytest.approx(250, abs=2)
    assert shifted(tone, Speaker("heart")) is tone


def test_strangers_are_nobody_else_and_stay_for_a_while() -> None:
    speakers = utterance_speakers(random.Random(0), {"heart": 0.5, "stranger of heart": 0.5})
    names = [next(speakers).name for _ in range(2000)]
    counts = Counter(names)
    assert 800 < counts.pop("heart") < 1200
    assert len(counts) > 50 and max(counts.values()) == UTTERANCES_OF_A_STRANGER


def test_processes_write_speech_that_the_store_reads_whole(
    carry: Path, tmp_path: Path, recipe: Recipe
) -> None:
    speakers = synthesis.start(carry, tmp_path, 0.01, 2, time.time() + 60, recipe.teacher_weights)
    for speaker in speakers:
        speaker.join(60)
    assert [speaker.exitcode for speaker in speakers] == [0, 0]
    store = SpeechStore(tmp_path, torch.device("cpu"), hours=0.1)
    store.refresh()
    assert store.filled == sum(path.stat().st_size for path in tmp_path.glob("*.i16")) // 2
    assert store.filled >= 0.01 * 3600 * SPEECH_RATE and not store.full
    held_out = set().union(*map(shingles, read_lines(HELD_OUT_FILE)))
    starts = 0
    for utterance in store.utterances:
        assert utterance.start == starts
        starts += utterance.samples
        assert utterance.voice in VOICES and not shingles(utterance.text) & held_out
    assert {u.kind for u in store.utterances} <= {"sentence", "words", "template"}


def test_the_store_follows_growing_files_and_stops_when_it_is_full(speech: Path, tmp_path: Path) -> None:
    audio, table = (speech / "0.i16").read_bytes(), (speech / "0.tsv").read_text().splitlines(True)
    (tmp_path / "0.i16").write_bytes(audio)
    (tmp_path / "0.tsv").write_text("".join(table[:2]) + table[2][:-4])
    store = SpeechStore(tmp_path, torch.device("cpu"), hours=20 / 3600)
    store.refresh()
    assert len(store.utterances) == 2
    (tmp_path / "0.tsv").write_text("".join(table))
    store.refresh()
    store.refresh()
    last = store.utterances[-1]
    assert 2 < len(store.utterances) < 12 and last.start + last.samples == store.filled <= 20 * 24000
    assert store.full
    everything = torch.from_numpy(np.frombuffer(audio, "<i2").copy())
    assert torch.equal(store.audio[: store.filled], everything[: store.filled])


def test_crops_are_stretches_of_the_speech_each_with_a_gain(store: SpeechStore) -> None:
    store.audio[: store.filled] = torch.arange(store.filled) % 30_000
    crops = store.crops(50, 400, 0.5, 1.0)
    assert crops.shape == (50, 1, 400) and crops.abs().max() <= 1
    steps = crops.diff().median(-1).values * 32768
    assert (steps > 0.49).all() and (steps < 1.01).all() and steps.std() > 0.05
    assert (((crops.diff() * 32768 - steps[..., None]).abs() < 0.02).float().mean() > 0.99).all()


def test_waiting_for_speech_that_never_comes_ends_at_the_deadline(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match="only 0 s"):
        SpeechStore(tmp_path, torch.device("cpu"), hours=0.01).wait_for(1.0, time.time() - 1)
