"""Text, flite, a little speech of its four voices and a tiny VAE, shared by the tests of training."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from models.voxcpm.training.recipe import Recipe, tiny_recipe
from models.voxcpm.training.speech.dataset import SpeechStore
from models.voxcpm.training.speech.flite import VOICES
from models.voxcpm.training.speech.teachers import Speaker, Teachers
from models.voxcpm.training.texts.sentences import write_lines
from models.voxcpm.vae.audio_vae import AudioVAE

SENTENCES = [
    f"The {colour} {animal} {verb} the {place} at dawn."
    for colour in ("brown", "old", "quiet")
    for animal in ("horse", "farmer", "cat")
    for verb, place in (("crossed", "river"), ("saw", "village"), ("left", "garden"))
]
WORDS = ["window", "orange", "seldom", "carry", "blue", "paper", "winter", "lamp"]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def recipe() -> Recipe:
    return tiny_recipe()


@pytest.fixture(scope="session")
def carry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What texts/sentences.py leaves: sentences and words. flite is the system's."""
    folder = tmp_path_factory.mktemp("carry")
    write_lines(folder / "sentences.txt.xz", SENTENCES)
    write_lines(folder / "words.txt.xz", WORDS)
    return folder


@pytest.fixture(scope="session")
def teachers() -> Teachers:
    return Teachers()


@pytest.fixture(scope="session")
def speech(tmp_path_factory: pytest.TempPathFactory, teachers: Teachers) -> Path:
    """A speech folder as the synthesis writes it: twelve sentences, three by each voice."""
    folder = tmp_path_factory.mktemp("speech")
    written, rng = 0, random.Random(0)
    with open(folder / "0.i16", "wb") as audio, open(folder / "0.tsv", "w") as table:
        for index, text in enumerate(SENTENCES[:12]):
            voice = VOICES[index % 4]
            samples = teachers.read(text, Speaker(voice), rng)
            audio.write(samples.tobytes())
            table.write(f"{written}\t{len(samples)}\t{voice}\tsentence\t{text}\n")
            written += len(samples)
    return folder


@pytest.fixture
def store(speech: Path) -> SpeechStore:
    store = SpeechStore(speech, torch.device("cpu"), hours=0.02)
    store.refresh()
    return store


@pytest.fixture
def vae(recipe: Recipe) -> AudioVAE:
    torch.manual_seed(0)
    return AudioVAE(recipe.config.audio_vae_config)
