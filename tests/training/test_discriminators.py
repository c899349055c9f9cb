"""The discriminators' gradients are about speech, and spelled letters are read as letters."""

from __future__ import annotations

import random

import pytest
import torch

from models.voxcpm.training.speech.synthesis import as_written
from models.voxcpm.training.speech.teachers import (
    UNHEARD_PITCHES,
    UNHEARD_THROATS,
    letters_apart,
    random_speaker,
)
from models.voxcpm.training.vae.discriminators import SpectrumDiscriminator, discriminator_loss, margin
from models.voxcpm.training.vae.losses import LEAST_FLOOR, QUIET_FLOOR, MelLoss

SAMPLES = 9600


def quiet_share(floor: float) -> float:
    """Of the gradient's energy, where the second half of a sound is silent but for a trace."""
    torch.manual_seed(0)
    audio = 0.07 * torch.randn(1, 1, SAMPLES)
    audio[..., SAMPLES // 2 :] *= 1e-4
    made = (audio * 1.3).requires_grad_()
    (gradient,) = torch.autograd.grad(MelLoss(floor=floor)(made, audio), made)
    energy = gradient.square()
    return float(energy[..., SAMPLES // 2 :].sum() / energy.sum())


def test_silence_has_little_part_in_the_mel_gradient_of_the_adversarial_stage() -> None:
    assert quiet_share(QUIET_FLOOR) < 0.4 < 0.8 < quiet_share(LEAST_FLOOR)


def test_digital_silence_gives_no_endless_gradient() -> None:
    torch.manual_seed(0)
    member = SpectrumDiscriminator(512, channels=8)
    silence = torch.zeros(1, 1, SAMPLES, requires_grad=True)
    (gradient,) = torch.autograd.grad(member.view(silence).sum(), silence)
    loud = (0.07 * torch.randn(1, 1, SAMPLES)).requires_grad_()
    (of_loud,) = torch.autograd.grad(member.view(loud).sum(), loud)
    assert gradient.isfinite().all()
    assert gradient.norm() < 10 * of_loud.norm()


def test_a_discriminator_learns_to_tell_two_sounds_apart() -> None:
    torch.manual_seed(0)
    member = SpectrumDiscriminator(512, channels=8)
    optimizer = torch.optim.AdamW(member.parameters(), 2e-3, betas=(0.8, 0.99))
    time = torch.arange(SAMPLES // 2) / 24_000
    for _ in range(15):
        noise = 0.07 * torch.randn(2, 1, SAMPLES // 2)
        tone = 0.1 * (2 * torch.pi * 220 * time + 6 * torch.rand(2, 1, 1)).sin()
        real, made = ([member.stack(member.view(sound))] for sound in (tone, noise))
        optimizer.zero_grad()
        discriminator_loss(real, made).backward()
        optimizer.step()
    assert margin(real, made) > 0.2


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("It is spelled A, B and A.", "It is spelled [A](/ˈA/), B and [A](/ˈA/)."),
        ("X A B D.", "X, [A](/ˈA/), B, D."),
        ("A man saw A B C.", "A man saw [A](/ˈA/) B C."),
        ("A cat and I.", "A cat and I."),
    ],
)
def test_spelled_letters_are_read_by_their_names(text: str, read: str) -> None:
    assert letters_apart(text, "heart") == read


def test_capitals_are_for_texts_without_spelled_letters() -> None:
    rng = random.Random(0)
    assert any(as_written(rng, "Go on.") == "GO ON." for _ in range(400))
    assert all(as_written(rng, "The C D is new.").rstrip(".") == "The C D is new" for _ in range(400))


def test_random_speakers_leave_the_throat_of_the_default_voice_with_a_low_pitch_out() -> None:
    rng = random.Random(0)
    speakers = [random_speaker(rng, "heart") for _ in range(2000)]
    assert sum(s.pitch < UNHEARD_PITCHES for s in speakers) > 100
    assert not any(s.pitch < UNHEARD_PITCHES - 1e-3 and s.formants > UNHEARD_THROATS + 1e-3 for s in speakers)
