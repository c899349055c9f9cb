"""The benchmark that judges voices: what it measures of known audio, and flite judged by flite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import soundfile

from benchmarks.voice import plot, report
from benchmarks.voice.judging.judge import described, endings, goals, judge, reference_pitch, worst_first
from benchmarks.voice.judging.measures import (
    SAMPLE_RATE,
    compared_words,
    is_cut,
    is_silent,
    is_too_long,
    largest_jump,
    longest_pause,
    median_pitch,
    plain_words,
    spoken_seconds,
    transcribe,
    word_error_rate,
)
from benchmarks.voice.judging.spectrograms import spectrogram, write_spectrograms
from benchmarks.voice.parts import likeness, speed, story
from benchmarks.voice.parts.continuing import jump_percent
from benchmarks.voice.parts.hard import hard_texts
from benchmarks.voice.speakers.readers import Clip, ModelReader, Recording, TeacherReader
from models.voxcpm import VoxCPM
from models.voxcpm.training.speech.teachers import Speaker
from models.voxcpm.training.texts.tokenizer_file import CHARACTERS

TEXT = "How many people do you think will come to the meeting on Monday?"
CHECKPOINTS = Path(__file__).parent.parent / "parity"


@pytest.mark.parametrize("hertz", [85.0, 120.0, 180.0, 300.0])
def test_the_pitch_of_a_harmonic_tone_is_its_fundamental(hertz: float) -> None:
    assert median_pitch(harmonics(hertz)) == pytest.approx(hertz, rel=0.005)


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


def test_figures_abbreviations_and_spelled_letters_are_heard_as_they_are_said() -> None:
    assert plain_words("It was $20 in 1984, Dr. Smith.") == plain_words(
        "it was twenty dollars in nineteen eighty-four doctor smith"
    )
    assert plain_words("The U.S.A. and T V.") == plain_words("the usa and tv") == "the usa and tv"
    assert plain_words("I am a man.") == "i am a man"


def test_a_word_that_is_heard_in_two_is_the_same_word_and_another_word_is_not() -> None:
    assert compared_words("Seashells by the seashore.", "sea shells by the sea shore") == (
        "seashells by the seashore",
        "seashells by the seashore",
    )
    assert compared_words("A wood chuck.", "A woodchuck.") == ("a woodchuck", "a woodchuck")
    chucks = compared_words("a woodchuck chucks wood", "a wood chuck checks wood")
    assert chucks == ("a woodchuck chucks wood", "a woodchuck checks wood")
    assert compared_words("can not, cannot", "can not cannot")[1] == "can not cannot"
    assert word_error_rate(["Six sea shells."], ["six she sells"]) == pytest.approx(2 / 3)


def test_a_clip_that_is_silent_cut_paused_or_endless_is_noticed() -> None:
    tone = 0.3 * np.sin(np.arange(SAMPLE_RATE)).astype(np.float32)
    quiet = np.zeros(SAMPLE_RATE // 2, np.float32)
    whole = np.concatenate([quiet, tone, quiet])
    assert not is_silent(whole) and not is_cut(whole)
    assert is_silent(quiet) and is_silent(np.zeros(0, np.float32)) and not is_cut(quiet)
    assert is_cut(np.concatenate([quiet, tone]))
    assert longest_pause(np.concatenate([tone, quiet, tone])) == pytest.approx(0.5, abs=0.01)
    assert is_too_long("Hi.", np.tile(whole, 2)) and not is_too_long(TEXT, whole)
    figures = endings([Clip(TEXT, whole), Clip(TEXT, quiet, finish_reason="runaway")])
    assert (figures["stop_rate"], figures["runaway"], figures["silent"]) == (0.5, 1, 1)


def test_flite_is_understood_and_silence_is_heard_as_nothing() -> None:
    heard = transcribe([TeacherReader().read(TEXT, Speaker("rms")).samples, np.zeros(0, np.float32)])
    assert word_error_rate([TEXT], heard[:1]) < 0.3 and heard[1] == ""


class Ears:
    """Judges of set opinions: a clip cut short is heard as its first word and liked less."""

    def words(self, samples: np.ndarray) -> str:
        return TEXT if len(samples) > 2 * SAMPLE_RATE else "How"

    def opinion_score(self, samples: np.ndarray) -> float:
        return 4.2 if len(samples) > 2 * SAMPLE_RATE else 2.0


def test_a_teacher_judged_by_itself_meets_every_goal_and_another_voice_does_not() -> None:
    teacher = TeacherReader("rms")
    assert teacher.counterpart("slt").name == "slt" and teacher.counterpart("default").name == "rms"
    assert teacher.counterpart("walter") == Speaker("joe")
    rms, slt = (teacher.read(TEXT, Speaker(name)) for name in ("rms", "slt"))

    def figures(clip: Clip) -> dict:
        return {**judge([clip], [rms], Ears()), "reference_pitch_hz": None}

    assert all(goals("rms", figures(rms)).values())
    assert not goals("rms", figures(slt))["pitch within 10 % of the reference's"]
    cut = Clip(TEXT, rms.samples[: len(rms.samples) // 2], finish_reason="length")
    missed = {rule for rule, met in goals("rms", figures(cut)).items() if not met}
    assert len(missed) >= 4 and "every clip stops by itself" in missed
    assert [described(clip) for clip in worst_first(figures(cut))] == [f"2.00  {TEXT} (heard: How)"]
    results = {"voices": {"rms": {**figures(cut), "goals": goals("rms", figures(cut))}}}
    written = report.text(results, {})
    assert f"2.00  {TEXT} (heard: How)" in written and "missed: rms: every clip stops by itself" in written


def test_the_pitch_of_a_named_voice_is_that_of_its_recording(tmp_path: Path) -> None:
    (tmp_path / "voices").mkdir()
    entries = {voice: {"audio": f"{voice}.wav"} for voice in ("slt", "rms")}
    (tmp_path / "voices" / "voices.json").write_text(json.dumps(entries))
    for voice in entries:
        clip = TeacherReader().read(TEXT, Speaker(voice))
        soundfile.write(tmp_path / "voices" / f"{voice}.wav", clip.samples, SAMPLE_RATE)
    man, woman = (reference_pitch(tmp_path, voice) for voice in ("rms", "slt"))
    assert 80 < man < 125 < 150 < woman < 200
    assert reference_pitch(tmp_path, "default") is None


def test_a_model_reads_several_sentences_at_once_with_its_finish_reasons() -> None:
    with VoxCPM.from_pretrained(str(CHECKPOINTS / "tiny_v2"), "cpu", max_num_seqs=3) as model:
        reader = ModelReader(model, 3, {"max_seconds": 0.05})
        jobs = [{"text": text, "seed": seed} for seed in range(2) for text in ("One.", "Two.")]
        clips = reader.read_all(jobs)
        figures = speed.measure(model, ["One."] * speed.EIGHT, {"max_seconds": 0.05})
    assert [(clip.text, clip.seed) for clip in clips] == [("One.", 0), ("Two.", 0), ("One.", 1), ("Two.", 1)]
    assert all(clip.finish_reason in ("stop", "length") and len(clip.samples) for clip in clips)
    assert all(figure > 0 for figure in figures.values())
    assert figures["rtf_of_eight_worst"] >= figures["rtf_of_eight"]


def test_a_story_is_cut_in_its_pauses_and_a_voice_that_rises_is_noticed() -> None:
    time = np.arange(19 * SAMPLE_RATE) / SAMPLE_RATE
    gap = np.zeros(SAMPLE_RATE, np.float32)
    tones = [
        np.sin(2 * np.pi * hertz * time).astype(np.float32) / 4 + np.sin(4 * np.pi * hertz * time) / 4
        for hertz in (150, 150, 180)
    ]
    samples = np.concatenate([part for tone in tones for part in (tone, gap)]).astype(np.float32)
    pieces = story.windows(samples)
    assert len(pieces) == 3 and sum(map(len, pieces)) == len(samples)
    assert [round(median_pitch(piece)) for piece in pieces] == pytest.approx([150, 150, 180], rel=0.02)

    class OneReader:
        def read(self, text: str, voice: str = "default") -> Clip:
            return Clip(text, samples)

    figures = story.measure(OneReader(), OneReader().read, Ears(), most=100)
    assert figures["teacher_worst_drift_percent"] == pytest.approx(figures["worst_drift_percent"], abs=2)
    assert figures["worst_drift_percent"] == pytest.approx(20, abs=2)
    kept = json.loads(json.dumps(figures | story.goals(figures), default=np.generic.item))
    missed = [rule for rule in story.goals(figures) if kept[rule] is False]
    assert any("within 6 % of the first" in rule for rule in missed)
    assert jump_percent([Clip("", pieces[1])], [Clip("", pieces[2])]) == pytest.approx(20, abs=2)


class Imitator:
    """Says everything in the voice of the recording it is given, or always in the same voice."""

    def __init__(self, hertz: float | None = None) -> None:
        self._hertz = hertz

    def read_all(self, jobs: list[dict[str, Any]]) -> list[Clip]:
        return [Clip(job["text"], self._said(*job["reference_audio"])) for job in jobs]

    def _said(self, samples: np.ndarray, rate: int) -> np.ndarray:
        return samples[:rate] if self._hertz is None else harmonics(self._hertz)


def harmonics(hertz: float) -> np.ndarray:
    time = np.arange(SAMPLE_RATE) / SAMPLE_RATE
    return sum(np.sin(2 * np.pi * hertz * k * time) / k for k in range(1, 8)).astype(np.float32) / 4


class SpeakerEars(Ears):
    """Knows speakers by their pitch alone: one component for each of two."""

    def speaker(self, samples: np.ndarray) -> np.ndarray:
        return np.eye(2)[int(median_pitch(samples) > 150)]


@pytest.mark.parametrize(("hertz", "like", "kept"), [(None, 1.0, True), (100.0, 0.5, False)])
def test_likeness_is_one_for_who_imitates_and_less_for_who_has_one_voice(
    hertz: float | None, like: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = {
        name: [Recording(TEXT, harmonics(pitch), SAMPLE_RATE)] * likeness.RECORDINGS
        for name, pitch in (("man", 100.0), ("woman", 200.0))
    }
    monkeypatch.setattr(likeness, "strangers", lambda *_: people)
    texts = ["text"] * (likeness.RECORDINGS + 2)
    figures = likeness.measure(Imitator(hertz), None, SpeakerEars(), texts, None)
    assert figures["likeness"] == pytest.approx(like) and figures["clips"] == 4
    assert figures["between_strangers"] == 0 and figures["strangers"]["man"]["likeness"] == 1
    met = likeness.goals(figures, default_errors=None)
    assert met["a stranger's reference: pitch within 10 %"] is kept


def test_every_hard_text_is_of_letters_that_the_voice_knows() -> None:
    kinds = {kind for kind, _ in hard_texts()}
    assert len(kinds) == 7 and all(set(text.lower()) <= set(CHARACTERS) for _, text in hard_texts())
    assert all(290 <= len(text) <= 330 for kind, text in hard_texts() if kind == "300 characters")


def test_a_spectrogram_shows_where_the_sound_is(tmp_path: Path) -> None:
    tone = 0.3 * np.sin(2 * np.pi * 2000 * np.arange(SAMPLE_RATE) / SAMPLE_RATE).astype(np.float32)
    picture = spectrogram(tone).sum(axis=(1, 2))
    assert picture.argmax() == pytest.approx(255 - 2000 / 8000 * 256, abs=2)
    write_spectrograms(tmp_path, "rms", [(Clip(TEXT, tone), Clip(TEXT, tone[:8000]))])
    (written,) = tmp_path.iterdir()
    assert written.name == "rms-01-how-many-people-do-you-think-wil.png"
    assert written.read_bytes().startswith(b"\x89PNG")


def test_the_drawing_shows_voices_and_story_and_is_well_formed() -> None:
    voice = {"mos": 4.2, "mos_worst": 3.1, "teacher_mos": 4.5, "teacher_mos_worst": 4.1}
    voice |= {"word_error_rate": 0.03, "teacher_word_error_rate": 0.01}
    drawing = plot.svg({"voices": {"<b>": voice}, "story": {"drift_percent": [0, 3, -13]} | voice})
    root = ElementTree.fromstring(drawing)
    circles = [float(e.get("cy")) for e in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert len(circles) == 4 and circles[2] < circles[0] < circles[3] < circles[1]
    assert len(root.findall(".//{http://www.w3.org/2000/svg}polyline")) == 1 and "<b>" not in drawing
