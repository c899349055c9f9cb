"""The voice in the box speaks: words come through, clips stop, voices differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from benchmarks.bad_generations import spoken
from benchmarks.voice.judging.measures import (
    SAMPLE_RATE,
    largest_jump,
    median_pitch,
    transcribe,
    word_error_rate,
)
from models.speech import WATCH_FITTED, WATCHED, SpeechRequest
from models.voxcpm import VoxCPM
from models.voxcpm.checkpoint import BUNDLED_DIRECTORY
from models.voxcpm.loading import load_engine
from models.voxcpm.requests.prompt import patch_keys
from models.voxcpm.requests.tokenizer import REFERENCE_START
from models.voxcpm.vae.audio_encoding import resample
from models.voxcpm.watch.fit import speak

SENTENCES = (
    "The quick brown fox jumps over the lazy dog.",
    "She opened the door and looked out into the garden.",
    "We will meet again tomorrow morning at the station.",
    "This is the first time that I have seen the sea.",
)


def heard(voice: VoxCPM, stream: Iterable[np.ndarray]) -> np.ndarray:
    """A whole clip at the rate that the recogniser takes."""
    return resample(np.concatenate(list(stream)), voice.sample_rate, SAMPLE_RATE)


@pytest.fixture(scope="module")
def voice() -> Iterator[VoxCPM]:
    with VoxCPM.from_pretrained("bundled", device="cpu") as loaded:
        yield loaded


@pytest.fixture(scope="module")
def clips(voice: VoxCPM) -> list[np.ndarray]:
    streams = [voice.generate(sentence, seed=seed) for seed, sentence in enumerate(SENTENCES)]
    clips = [heard(voice, stream) for stream in streams]
    assert [stream.finish_reason for stream in streams] == ["stop"] * len(SENTENCES)
    return clips


def test_a_recogniser_reads_most_words_back(clips: list[np.ndarray]) -> None:
    assert word_error_rate(SENTENCES, transcribe(clips)) <= 0.2


def test_clips_are_as_long_as_speech_takes_and_do_not_click(voice: VoxCPM, clips: list[np.ndarray]) -> None:
    for sentence, clip in zip(SENTENCES, clips, strict=True):
        assert 0.04 <= len(clip) / SAMPLE_RATE / len(sentence) <= 0.12
        assert 0.05 <= np.abs(clip).max() <= 1.0
        assert largest_jump(clip) <= 0.6


def test_named_voices_have_their_own_pitch(voice: VoxCPM) -> None:
    names = ("default", "ruth", "walter")
    assert set(voice.info.voices) == set(names)
    clips = {name: heard(voice, voice.generate(SENTENCES[1], voice=name, seed=1)) for name in names}
    pitch = {name: median_pitch(clip) for name, clip in clips.items()}
    assert min(pitch["default"], pitch["ruth"]) > 1.2 * pitch["walter"]


def test_a_paragraph_is_read_to_its_end(voice: VoxCPM) -> None:
    paragraph = " ".join(SENTENCES)
    assert len(paragraph) > voice.info.part_characters
    stream = voice.generate(paragraph, seed=1)
    clip = heard(voice, stream)
    assert stream.finish_reason == "stop"
    assert word_error_rate([paragraph], transcribe([clip])) <= 0.25


def test_the_checkpoint_stays_within_its_size() -> None:
    size = sum(path.stat().st_size for path in BUNDLED_DIRECTORY.rglob("*") if path.is_file())
    assert size <= 40 * 2**20


def test_the_default_voice_has_a_recording_of_its_own_which_gives_way_to_a_prompt(voice: VoxCPM) -> None:
    engine = voice._engine
    latents = np.zeros((20, engine.config.patch_size, engine.config.feat_dim), np.float32)
    own, walters = (engine._voice_reference(name) for name in ("default", "walter"))

    def begins(**asked: object) -> list[int | bytes]:
        return engine.prepare(SpeechRequest("r", "Hello.", seed=1, **asked)).token_ids

    assert begins()[: len(own) + 1] == [REFERENCE_START, *patch_keys(own)]
    prompted = {"prompt_text": "Good day. ", "prompt_latents": latents}
    assert REFERENCE_START not in begins(**prompted)
    assert begins(voice="walter", **prompted)[: len(walters) + 1] == [REFERENCE_START, *patch_keys(walters)]
    assert begins(reference_latents=latents, **prompted)[1:21] == patch_keys(latents)


def test_half_a_sentence_is_spoken_as_a_whole_one(voice: VoxCPM) -> None:
    def keys(text: str, **asked: object) -> list[int | bytes]:
        return voice._engine.prepare(SpeechRequest("r", text, seed=1, **asked)).token_ids

    assert keys("When it was over,") == keys("When it was over") == keys("When it was over.")
    assert keys("Was it over?") != keys("Was it over.")
    config = voice._engine.config
    latents = np.zeros((5, config.patch_size, config.feat_dim), np.float32)
    one, other = (
        keys("It went on.", prompt_text=words, prompt_latents=latents) for words in ("Then, ", "Then. ")
    )
    assert one == other


def test_short_sentences_one_after_the_other_are_not_flawed() -> None:
    """One step within the pause between them is far from what is expected, and is heard by nobody; and of
    single words the pauses are half of the speech.
    """
    texts = ("Thanks. See you soon.", "Well. That was fun.", "Hi. How are you?", "Sure. Why not?")
    texts += ("No. No. No. No.", "Run. Jump. Sit. Lie. Eat.", "Yes? No? Why?", "One. Two. Three. Four. Five.")
    engine = load_engine("bundled", "cpu", max_num_seqs=len(texts))
    try:
        requests = [SpeechRequest(str(seed), text, seed) for seed, text in enumerate(texts, 1)]
        told = [[output.flaw for output in outputs] for outputs in speak(engine, requests)]
    finally:
        engine.close()
    assert [text for text, flaws in zip(texts, told, strict=True) if any(flaws)] == []


def test_speech_that_noise_has_spoilt_is_flawed_and_other_speech_is_not() -> None:
    engine = load_engine("bundled", "cpu", max_num_seqs=2)
    try:
        good, spoilt = (spoken(engine, SENTENCES[:2], strength) for strength in (0.0, 4.0))
        assert {WATCHED, WATCH_FITTED} <= set(engine.info.features)
        (strong,) = speak(engine, [SpeechRequest("strong", SENTENCES[0], 1, cfg_value=4.0)])
    finally:
        engine.close()
    assert [(clip.flaw, clip.cut_at) for clip in good] == [("", None)] * 2
    assert not any(output.flaw for output in strong)
    assert all(clip.flaw and clip.cut_at for clip in spoilt)
