"""The decoder learns beside the models: it gets nearer to recordings, goes on after a cut, and is written."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.shared.published import load_published
from models.voxcpm.adapters import adaptable
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.finetuning.decoder import DecoderLearner
from models.voxcpm.finetuning.recordings.corpus import Material, encode, examine
from models.voxcpm.finetuning.recordings.dataset import read_dataset
from models.voxcpm.finetuning.recordings.speech import prepare
from models.voxcpm.finetuning.run import finetune
from models.voxcpm.training.vae.losses import QUIET_FLOOR, MelLoss
from models.voxcpm.vae.adapted_decoder import PREFIX, vae_with
from models.voxcpm.vae.audio_encoding import resample
from tests.models.finetuning.conftest import RATE, voiced
from tests.models.finetuning.short_runs import (
    CHECKPOINT,
    check_heard,
    check_same_weights,
    hasten,
    options,
    weights,
    whole_run,
)
from tests.parity import adapters


@pytest.fixture(autouse=True)
def hastened(monkeypatch: pytest.MonkeyPatch) -> None:
    hasten(monkeypatch)


@pytest.fixture(scope="module")
def trained(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    return whole_run(recordings, tmp_path_factory.mktemp("out") / "anna", decoder=True, steps=8)


@pytest.fixture(scope="module")
def material(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Material:
    checkpoint = load_checkpoint(CHECKPOINT, "cpu", trainable=True)
    spoken, _ = examine(read_dataset(recordings), checkpoint, 30.0, 1000, str, lambda *said: None)
    return encode(spoken, checkpoint, tmp_path_factory.mktemp("latents"), lambda *said: None)


def test_it_learns_to_sound_like_the_recordings(material: Material) -> None:
    checkpoint = load_checkpoint(CHECKPOINT, "cpu", trainable=True)
    config = checkpoint.config.audio_vae_config
    decoder = DecoderLearner(checkpoint, material.heard, rank=8, seed=0)
    losses = [float(decoder.step(number, number / 60)) for number in range(60)]
    assert np.mean(losses[-10:]) < 0.9 * np.mean(losses[:10])
    spoken, patches = material.heard[0]
    latents = torch.from_numpy(patches).flatten(0, 1).T[None]
    wanted = torch.from_numpy(resample(spoken.speech.samples, RATE, config.output_sample_rate))[None, None]
    loss = MelLoss(sample_rate=config.output_sample_rate)
    with torch.no_grad():
        before, after = (
            loss(vae.decode(latents)[..., : wanted.shape[-1]], wanted)
            for vae in (checkpoint.vae, vae_with(checkpoint.vae, decoder.layers()))
        )
    assert after < 0.95 * before


def test_steps_follow_from_their_numbers_alone(material: Material) -> None:
    checkpoint = load_checkpoint(CHECKPOINT, "cpu", trainable=True)
    one, other = (DecoderLearner(checkpoint, material.heard, rank=4, seed=3) for _ in range(2))
    for number in range(3):
        one.step(number, 0.1 * number)
    other.load_state_dict(copy.deepcopy(one.state_dict()))
    assert torch.equal(one.step(3, 0.3), other.step(3, 0.3))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters, other.parameters, strict=True))


def test_it_is_written_whole_and_what_the_models_learnt_by_half(
    trained: tuple[Path, list[dict[str, Any]]],
) -> None:
    out, events = trained
    written = json.loads((out / "lora_config.json").read_text())
    assert written["audio_vae_digest"] == load_checkpoint(CHECKPOINT, "cpu").vae_digest
    about = written["lora_config"]
    assert (about["r"], about["alpha"]) == (4, 2)
    decoder = ("enable_audio_vae_decoder", "r_audio_vae_decoder", "alpha_audio_vae_decoder")
    assert [about[name] for name in decoder] == [True, 8, 8]
    names = {name.rpartition(".")[0] for name in weights(out)}
    assert names == set(adaptable(load_checkpoint(CHECKPOINT, "cpu").config))
    mel = [event["mel"] for event in events if event["state"] == "training"]
    assert len(mel) == 8 and mel[-1] < mel[0]
    assert check_heard(out) == 8


def test_a_run_that_was_cut_goes_on_as_if_it_had_not_been(
    trained: tuple[Path, list[dict[str, Any]]], recordings: Path, tmp_path: Path
) -> None:
    out, stops = tmp_path / "anna", iter([False] * 2 + [True])
    chosen = options(decoder=True, steps=8)
    finetune(recordings, out, chosen, lambda event: None, stopping=lambda: next(stops))
    finetune(recordings, out, chosen, lambda event: None)
    check_same_weights(trained[0], out)


def test_models_learn_the_same_beside_it(
    trained: tuple[Path, list[dict[str, Any]]], recordings: Path, tmp_path: Path
) -> None:
    finetune(recordings, tmp_path / "anna", options(decoder=False, steps=8), lambda event: None)
    alone, beside = weights(tmp_path / "anna"), weights(trained[0])
    assert not any(name.startswith(PREFIX) for name in alone)
    assert all(torch.equal(alone[name], beside[name]) for name in alone)


def test_the_published_package_leaves_it_out(trained: tuple[Path, list[dict[str, Any]]]) -> None:
    out, _ = trained
    theirs = load_published(CHECKPOINT)
    adapters.adapt(theirs, **json.loads((out / "lora_config.json").read_text())["lora_config"])
    loaded, skipped = theirs.load_lora_weights(str(out))
    assert sorted(loaded) == sorted(theirs.get_lora_state_dict())
    assert sorted(skipped) == sorted(name for name in weights(out) if name.startswith(PREFIX))


def test_a_whole_checkpoint_has_the_decoder(recordings: Path, tmp_path: Path) -> None:
    out = tmp_path / "anna"
    finetune(recordings, out, options(method="full", decoder=True, steps=2), lambda event: None)
    before, after = (load_checkpoint(path, "cpu").vae.state_dict() for path in (CHECKPOINT, out))
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved and all(name.startswith("decoder.") for name in moved)


def test_a_stretch_is_the_same_at_any_rate() -> None:
    recorded = resample(voiced(2.0, lead=0.7), RATE, 44_100)
    speech = prepare(recorded, 44_100, RATE)
    wide = speech.at(recorded, 24_000)
    assert len(wide) == round(len(speech.samples) * 1.5)
    back = resample(wide, 24_000, RATE)[: len(speech.samples)]
    assert np.corrcoef(back, speech.samples)[0, 1] > 0.999
    assert abs(np.linalg.norm(back) / np.linalg.norm(speech.samples) - 1) < 0.01
    short = replace(speech, start=len(speech.samples))  # a recording that ends sooner at this rate
    assert len(short.at(recorded, 24_000)) == len(wide)


def test_bands_above_a_recording_are_not_judged() -> None:
    time = torch.arange(24_000) / 24_000
    low, high = (0.1 * torch.sin(2 * torch.pi * hertz * time)[None, None] for hertz in (500.0, 10_000.0))
    judged, whole = (MelLoss(floor=QUIET_FLOOR, most_hz=most) for most in (7600.0, None))
    assert judged(low + high, low) < 0.1 * whole(low + high, low)
    assert MelLoss(floor=QUIET_FLOOR, most_hz=3800.0)(0.5 * low, low) > 1


def test_a_few_narrow_recordings_take_no_band_from_the_others(material: Material) -> None:
    checkpoint = load_checkpoint(CHECKPOINT, "cpu", trainable=True)

    def judged(*narrow: int) -> tuple[int, list[int]]:
        heard = [
            (replace(spoken, speech=replace(spoken.speech, recorded_rate=8000 if i in narrow else RATE)), row)
            for i, (spoken, row) in enumerate(material.heard)
        ]
        learner = DecoderLearner(checkpoint, heard, rank=4, seed=0)
        return len(learner._loss.filters_2048), [frames.shape[1] for frames, _ in learner._recordings]

    bands, recordings = judged()
    assert judged(0, 3) == (bands, [*recordings[1:3], *recordings[4:]])
    fewer, all_of_them = judged(*range(2, len(recordings)))
    assert fewer < bands and all_of_them == recordings


@pytest.mark.parametrize("strength", [0.0, 1.5])
def test_a_strength_out_of_range_is_named(strength: float) -> None:
    with pytest.raises(ValueError, match="strength must be above 0 and at most 1"):
        options(strength=strength)
