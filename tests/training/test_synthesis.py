"""Speech read aloud by flite: levels, silences, and the files that a reader follows while they grow."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch

from models.voxcpm.training import synthesis
from models.voxcpm.training.dataset import SpeechStore
from models.voxcpm.training.recipe import VOICE_WEIGHTS
from models.voxcpm.training.text import HELD_OUT_FILE, read_lines, shingles

TEXT = "The farmer saw the village at dawn."


def test_every_voice_speaks_at_one_level_between_equal_silences(
    flite: synthesis.Flite, gains: dict[str, float]
) -> None:
    levels = {}
    for voice in synthesis.VOICES:
        samples = synthesis.speak(flite, TEXT, voice, gains).astype(float)
        loud = np.abs(samples) > 50
        levels[voice] = np.sqrt(np.mean(samples[loud] ** 2))
        edge = 250 * gains[voice]
        assert np.abs(samples[: synthesis.LEAD_SAMPLES]).max() < edge
        assert np.abs(samples[-synthesis.TAIL_SAMPLES :]).max() < edge
    assert max(levels.values()) < 1.5 * min(levels.values())


def test_a_text_takes_a_voice_the_same_time_twice_and_another_voice_another(flite: synthesis.Flite) -> None:
    first, again, other = (flite.say(TEXT, voice) for voice in ("slt", "slt", "rms"))
    assert len(first) == len(again) != len(other)
    assert np.corrcoef(first, again)[0, 1] > 0.9  # its hiss is random


def test_silence_is_trimmed_and_nothing_but_silence_becomes_empty() -> None:
    samples = np.zeros(20_000, np.int16)
    assert len(synthesis.trim(samples)) == 0
    samples[[9_000, 9_999]] = 1000
    assert len(synthesis.trim(samples)) == 1_000 + synthesis.LEAD_SAMPLES + synthesis.TAIL_SAMPLES
    assert len(synthesis.trim(samples[9_000:10_000])) == len(synthesis.trim(samples))


def test_processes_write_speech_that_the_store_reads_whole(carry: Path, tmp_path: Path) -> None:
    speakers = synthesis.start(carry, tmp_path, 0.01, 2, time.time() + 60, VOICE_WEIGHTS)
    for speaker in speakers:
        speaker.join(60)
    assert [speaker.exitcode for speaker in speakers] == [0, 0]
    store = SpeechStore(tmp_path, torch.device("cpu"), hours=0.1)
    store.refresh()
    assert store.filled == sum(path.stat().st_size for path in tmp_path.glob("*.i16")) // 2
    assert store.filled >= 0.01 * 3600 * synthesis.SAMPLE_RATE and not store.full
    held_out = set().union(*map(shingles, read_lines(HELD_OUT_FILE)))
    starts = 0
    for utterance in store.utterances:
        assert utterance.start == starts
        starts += utterance.samples
        assert utterance.voice in synthesis.VOICES and not shingles(utterance.text) & held_out
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
    assert 2 < len(store.utterances) < 12 and last.start + last.samples == store.filled <= 20 * 16000
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
