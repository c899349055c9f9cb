"""The benchmark that judges voices: what it measures of known audio, and flite judged by flite."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from benchmarks.voice.judge import (
    Clip,
    ModelReader,
    TeacherReader,
    goals,
    judge,
    reference_pitch,
    worst_clips,
)
from benchmarks.voice.measures import (
    SAMPLE_RATE,
    largest_jump,
    median_pitch,
    plain_words,
    spoken_seconds,
    transcribe,
    word_error_rate,
)
from models.voxcpm import VoxCPM

TEXT = "How many people do you think will come to the meeting on Monday?"
CHECKPOINTS = Path(__file__).parent.parent / "parity"


@pytest.mark.parametrize("hertz", [85.0, 120.0, 180.0, 300.0])
def test_the_pitch_of_a_harmonic_tone_is_its_fundamental(hertz: float) -> None:
    time = np.arange(SAMPLE_RATE) / SAMPLE_RATE
    tone = sum(np.sin(2 * np.pi * hertz * k * time) / k for k in range(1, 8)).astype(np.float32) / 4
    assert median_pitch(tone) == pytest.approx(hertz, rel=0.02)


def test_noise_and_silence_have_no_pitch() -> None:
    assert np.isnan(median_pitch(np.zeros(100, np.float32)))
    assert np.isnan(median_pitch(np.zeros(SAMPLE_RATE, np.float32)))
    assert np.isnan(median_pitch(np.random.default_rng(0).normal(0, 0.1, SAMPLE_RATE).astype(np.float32)))


def test_a_click_is_the_largest_jump() -> None:
    samples = 0.1 * np.sin(np.arange(4000) / 50).astype(np.float32)
    quiet = largest_jump(samples)
    samples[1234] += 0.5
    assert quiet < 0.01 and largest_jump(samples) == pytest.approx(0.5, abs=0.01)
    assert largest_jump(samples[:1]) == 0.0


def test_silence_around_speech_does_not_count() -> None:
    tone = 0.3 * np.sin(np.arange(SAMPLE_RATE)).astype(np.float32)
    padded = np.concatenate([np.zeros(9000, np.float32), tone, np.zeros(20000, np.float32)])
    assert spoken_seconds(padded) == pytest.approx(spoken_seconds(tone), abs=0.01)


def test_words_are_compared_without_case_and_signs() -> None:
    assert plain_words("Well-known, isn't it?") == "well known isn't it"
    assert word_error_rate(["One two, three four."], ["one two free four"]) == 0.25


def test_flite_is_understood_and_silence_is_heard_as_nothing() -> None:
    heard = transcribe([TeacherReader().read(TEXT, "rms").samples, np.zeros(0, np.float32)])
    assert word_error_rate([TEXT], heard[:1]) < 0.3 and heard[1] == ""


class Ears:
    """Judges of set opinions: a clip cut short is heard as its first word and liked less."""

    def words(self, samples: np.ndarray) -> str:
        return TEXT if len(samples) > 2 * SAMPLE_RATE else "How"

    def opinion_score(self, samples: np.ndarray) -> float:
        return 4.2 if len(samples) > 2 * SAMPLE_RATE else 2.0


def test_a_teacher_judged_by_itself_meets_every_goal_and_another_voice_does_not() -> None:
    teacher = TeacherReader("rms")
    assert (teacher.counterpart("slt"), teacher.counterpart("walter")) == ("slt", "rms")
    rms, slt = teacher.read(TEXT, "rms"), teacher.read(TEXT, "slt")

    def figures(clip: Clip) -> dict:
        return {**judge([clip], [rms], Ears()), "reference_pitch_hz": None}

    assert all(goals("rms", figures(rms)).values())
    assert not goals("rms", figures(slt))["pitch within 10 % of the reference's"]
    cut = Clip(TEXT, rms.samples[: len(rms.samples) // 2], finish_reason="length")
    missed = {rule for rule, met in goals("rms", figures(cut)).items() if not met}
    assert len(missed) >= 4 and "every clip stops by itself" in missed
    assert worst_clips(figures(cut)) == [f"2.00  {TEXT} (heard: How)"]


def test_the_pitch_of_a_named_voice_is_that_of_its_recording(tmp_path: Path) -> None:
    (tmp_path / "voices").mkdir()
    entries = {voice: {"audio": f"{voice}.wav"} for voice in ("slt", "rms")}
    (tmp_path / "voices" / "voices.json").write_text(json.dumps(entries))
    for voice in entries:
        clip = TeacherReader().read(TEXT, voice)
        soundfile.write(tmp_path / "voices" / f"{voice}.wav", clip.samples, SAMPLE_RATE)
    man, woman = (reference_pitch(tmp_path, voice) for voice in ("rms", "slt"))
    assert 80 < man < 125 < 150 < woman < 200
    assert reference_pitch(tmp_path, "default") is None


def test_a_model_reads_several_sentences_at_once_with_its_finish_reasons() -> None:
    with VoxCPM.from_pretrained(str(CHECKPOINTS / "tiny_v2"), "cpu", max_num_seqs=3) as model:
        reader = ModelReader(model, 3, {"max_seconds": 0.05})
        clips, seconds = reader.read_all(["One.", "Two."], "default", seeds=2)
        alone = reader.alone(["One."], "default")
    assert [(clip.text, clip.seed) for clip in clips] == [("One.", 0), ("Two.", 0), ("One.", 1), ("Two.", 1)]
    assert all(clip.finish_reason in ("stop", "length") and len(clip.samples) for clip in clips)
    assert seconds > 0 and alone["rtf_alone"] > 0 and alone["first_audio_ms"] > 0
