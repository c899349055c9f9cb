"""Training the language model: fresh weights, a toy that is learnt by heart, what resuming keeps."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from models.voxcpm.model import VoxCPMModel
from models.voxcpm.training.lm import encoded
from models.voxcpm.training.lm.encoded import EncodedSpeech
from models.voxcpm.training.lm.feeder import BatchFeeder
from models.voxcpm.training.lm.generation import generate, waveforms
from models.voxcpm.training.lm.latents import build_corpus, encode_speech, patches_of
from models.voxcpm.training.lm.loss import initialize
from models.voxcpm.training.lm.train_lm import LMTrainer
from models.voxcpm.training.recipe import Recipe
from models.voxcpm.training.speech.dataset import SpeechStore
from models.voxcpm.training.speech.hearing import Hearing
from models.voxcpm.training.stages.common import MovingAverage, StageClock, cosine, warmup
from models.voxcpm.training.stages.optimization import guarded_step
from models.voxcpm.training.stages.progress import Progress
from models.voxcpm.training.texts.tokenizer_file import build_tokenizer
from models.voxcpm.vae.audio_vae import AudioVAE

CPU = torch.device("cpu")
PATCH_SAMPLES = 2 * 960


@pytest.fixture
def trainer(recipe: Recipe, speech: Path, tmp_path: Path) -> LMTrainer:
    (tmp_path / "speech").symlink_to(speech)
    return LMTrainer(recipe, tmp_path, CPU, Progress(tmp_path, "lm"))


def test_initialising_again_gives_the_same_weights_whatever_was_there(recipe: Recipe) -> None:
    models = [VoxCPMModel(recipe.config) for _ in range(2)]
    with torch.no_grad():
        for parameter in models[1].parameters():
            parameter.fill_(float("nan"))
    for model in models:
        torch.manual_seed(4)
        initialize(model)
    for (name, first), second in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
        assert torch.equal(first, second), name


def test_an_utterance_takes_its_patches_and_one_of_silence(
    store: SpeechStore, recipe: Recipe, vae: AudioVAE
) -> None:
    latents, ordered = encode_speech(vae.encode, store, recipe.config, samples_per_call=200_000)
    assert [u.samples for u in ordered] == sorted(u.samples for u in store.utterances)
    counts = [patches_of(u, PATCH_SAMPLES) for u in ordered]
    assert latents.shape == (sum(counts), 2, recipe.config.feat_dim)
    first = 0
    for utterance, count in zip(ordered, counts, strict=True):
        audio = store.audio[utterance.start : utterance.start + utterance.samples].float() / 32768
        padding = count * PATCH_SAMPLES - len(audio)
        assert PATCH_SAMPLES <= padding < 2 * PATCH_SAMPLES
        with torch.no_grad():
            alone = vae.encode(Hearing()(torch.nn.functional.pad(audio, (0, padding))[None, None]))[0]
        wanted = alone.T.unflatten(0, (-1, 2))
        torch.testing.assert_close(latents[first : first + count].float(), wanted, rtol=2e-3, atol=2e-3)
        first += count


def test_the_corpus_names_each_utterances_tokens_and_patches(store: SpeechStore) -> None:
    tokenizer = build_tokenizer()
    corpus = build_corpus(store.utterances, PATCH_SAMPLES, tokenizer)
    for index, utterance in enumerate(store.utterances):
        first, count = corpus.first_token[index], corpus.num_tokens[index]
        assert tokenizer.encode(utterance.text).ids == corpus.tokens[first : first + count].tolist()
        assert corpus.voices[corpus.voice[index]] == utterance.voice
    assert corpus.first_patch[-1] + corpus.num_patches[-1] == corpus.num_patches.sum()


def test_a_toy_is_learnt_by_heart(trainer: LMTrainer, store: SpeechStore) -> None:
    """Three utterances that are sine waves: within seconds the flow loss falls far and the stop is known."""
    store.utterances = store.utterances[:3]
    corpus = build_corpus(store.utterances, PATCH_SAMPLES, trainer.tokenizer)
    index = np.concatenate([np.arange(n) for n in corpus.num_patches])
    phase = torch.arange(2 * trainer.config.feat_dim).reshape(2, -1)
    latents = 1.4 * torch.sin(0.25 * torch.from_numpy(index)[:, None, None] + phase)
    recipe = dataclasses.replace(trainer.recipe.lm, learning_rate=3e-3, most_feedback_noise=0.0)
    trainer.recipe = dataclasses.replace(trainer.recipe, lm=recipe)
    feeder = BatchFeeder(corpus, recipe, CPU, seed=0, threads=1)
    losses = np.array([[x.item() for x in trainer.train_step(feeder, latents, 0.2)] for _ in range(60)])
    feeder.close()
    flow, stop = losses[:, 0], losses[:, 1]
    assert flow[:3].mean() > 1.5 and flow[-10:].mean() < 0.5
    assert stop[:3].mean() > 0.3 and stop[-10:].mean() < 0.1


def test_what_is_written_can_be_resumed_and_generated_from(
    trainer: LMTrainer, store: SpeechStore, vae: AudioVAE
) -> None:
    latents, ordered = encode_speech(vae.encode, store, trainer.config)
    corpus = build_corpus(ordered, PATCH_SAMPLES, trainer.tokenizer)
    feeder = BatchFeeder(corpus, trainer.recipe.lm, CPU, seed=0, threads=1)
    for _ in range(11):
        trainer.train_step(feeder, latents, 0.2)
    feeder.close()
    trainer.write(5.0)
    again = LMTrainer(trainer.recipe, trainer.work, CPU, trainer.progress)
    again.resume()
    assert (again.step, again.spent) == (11, 5.0)
    parameters = zip(again.model.parameters(), trainer.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in parameters)
    averaged = torch.load(trainer.work / "lm.pt", weights_only=True)
    with trainer.average.applied():
        state = trainer.model.state_dict()
        assert all(torch.equal(state[name], value) for name, value in averaged.items())
    trainer.model.eval()
    spoken = generate(trainer.model, [[5, 6], [7]], [None, latents[:16].float()], 3, num_steps=2)
    assert [len(one.patches) for one in spoken] == [3, 3]
    assert [len(audio) for audio in waveforms(vae, spoken)] == [3 * PATCH_SAMPLES] * 2


FAR = 1e9


class Clock:
    """Of who sleeps: nothing else takes time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_speech_is_waited_for_until_its_time_or_until_there_is_enough(
    trainer: LMTrainer, vae: AudioVAE, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(encoded, "time", clock)
    torch.save(vae.state_dict(), trainer.work / "vae.pt")
    store = SpeechStore(trainer.work / "speech", CPU, hours=0.05)
    store.refresh()

    def speech_of(share: float) -> EncodedSpeech:
        recipe = dataclasses.replace(trainer.recipe, hours=share * store.hours)
        speech = EncodedSpeech(recipe, trainer.work, trainer.vae, trainer.tokenizer, trainer.progress)
        speech.store = store
        return speech

    speech_of(4).wait_and_encode(FAR, clock.now + 3.5)
    assert clock.slept == [1, 1, 1, 1]
    _, corpus = speech_of(1).wait_and_encode(FAR, FAR)
    assert len(corpus.voice) == 12
    store.audio = store.audio[: store.filled]
    assert store.full
    speech_of(4).wait_and_encode(FAR, FAR)
    assert len(clock.slept) == 4


def test_speech_is_encoded_again_when_there_is_much_more_of_it_and_when_it_is_over(
    trainer: LMTrainer, vae: AudioVAE
) -> None:
    torch.save(vae.state_dict(), trainer.work / "vae.pt")
    speech = trainer.speech
    speech.store = SpeechStore(trainer.work / "speech", CPU, hours=0.05)
    later = time.time() + 3600
    speech.wait_and_encode(time.time() + 60, 0.0)
    everything = speech.hours
    assert not speech.has_grown(later)
    speech.hours = everything / 2
    assert not speech.has_grown(later)
    speech.hours = everything / 5
    assert speech.has_grown(later)
    speech.hours = everything / 2
    assert speech.has_grown(0.0)
    assert not speech.has_grown(0.0)


def test_a_gradient_that_is_no_number_changes_nothing() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.AdamW([weight], 0.1, fused=True)
    for gradient, moves in ((1.0, True), (float("nan"), False), (float("inf"), False), (1.0, True)):
        before = weight.detach().clone()
        weight.grad = torch.full((3,), gradient)
        guarded_step(optimizer, weight.grad.norm())
        assert torch.equal(weight, before) != moves and weight.isfinite().all()


def test_the_average_is_applied_and_taken_back() -> None:
    module = torch.nn.Linear(2, 1)
    average = MovingAverage(module, 0.5)
    start = module.weight.detach().clone()
    with torch.no_grad():
        module.weight += 8
    for _ in range(3):
        average.update()
    moved = module.weight.detach().clone()
    with average.applied():
        assert ((start < module.weight) & (module.weight < moved)).all()
    assert torch.equal(module.weight, moved)


def test_the_learning_rate_warms_up_and_follows_half_a_cosine() -> None:
    assert [warmup(step, 4) for step in (0, 1, 3, 9)] == [0.25, 0.5, 1.0, 1.0]
    rates = [cosine(x / 10) for x in range(11)]
    assert rates[0] == 1.0 and rates[-1] == pytest.approx(0.05) and rates == sorted(rates, reverse=True)
    assert cosine(2.0) == rates[-1]


def test_the_clock_counts_what_earlier_runs_spent() -> None:
    now = time.time()
    assert StageClock(now + 100, 300.0).done == pytest.approx(0.75, abs=0.01)
    assert StageClock(now + 100).done == pytest.approx(0.0, abs=0.01)
    assert StageClock(now - 1).done == 1.0
