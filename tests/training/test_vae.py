"""Training the audio VAE: losses, weight norm, whitening, discriminators, both stages in miniature."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from models.voxcpm.training.recipe import Recipe
from models.voxcpm.training.speech.dataset import SpeechStore
from models.voxcpm.training.speech.hearing import Hearing
from models.voxcpm.training.speech.synthesis import write_validation_speech
from models.voxcpm.training.speech.teachers import Speaker
from models.voxcpm.training.stages.optimization import all_tensors
from models.voxcpm.training.stages.progress import Progress, last_report
from models.voxcpm.training.stages.ranks import Ranks
from models.voxcpm.training.vae.channels_last import compute_as_images
from models.voxcpm.training.vae.discriminators import Discriminators, discriminator_loss, generator_loss
from models.voxcpm.training.vae.losses import WINDOWS_AND_BANDS, MelLoss, kl_divergence, mel_filters
from models.voxcpm.training.vae.train_decoder import DecoderTrainer
from models.voxcpm.training.vae.train_vae import Autoencoding, VAETrainer
from models.voxcpm.training.vae.weights import add_weight_norm, plain_state, whiten
from models.voxcpm.vae.audio_vae import AudioVAE, receptive_field_frames

CPU = torch.device("cpu")


@pytest.fixture
def work(tmp_path: Path, speech: Path) -> Path:
    """A run's folder with speech and validation speech."""
    (tmp_path / "speech").symlink_to(speech)
    write_validation_speech(tmp_path, None, 1, (Speaker("rms"), Speaker("slt")))
    return tmp_path


@pytest.mark.parametrize(("window", "bands"), WINDOWS_AND_BANDS)
def test_mel_filters_are_triangles_that_share_the_spectrum(window: int, bands: int) -> None:
    filters = mel_filters(window, bands)
    assert filters.shape == (bands, window // 2 + 1)
    assert (filters >= 0).all() and (filters <= 1).all()
    assert filters.sum(0).max() <= 1 + 1e-5


def test_the_mel_loss_is_zero_for_equal_audio_and_grows_with_the_difference(store: SpeechStore) -> None:
    torch.manual_seed(0)
    loss, audio = MelLoss(), store.crops(2, 8000)
    noise = torch.randn_like(audio)
    distances = [loss(audio + level * noise, audio).item() for level in (0.0, 0.001, 0.01, 0.1)]
    assert distances[0] == 0 and distances == sorted(distances)


def test_the_mel_loss_sends_gradients_to_the_made_audio_alone(store: SpeechStore) -> None:
    made, target = (store.crops(1, 4000).requires_grad_() for _ in range(2))
    MelLoss()(made, target).backward()
    assert made.grad.isfinite().all() and made.grad.abs().max() > 0 and target.grad is None


def test_the_kl_is_that_of_torch() -> None:
    mean, log_variance = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    normal = torch.distributions.Normal
    expected = torch.distributions.kl_divergence(
        normal(mean, (0.5 * log_variance).exp()), normal(torch.zeros(()), torch.ones(()))
    )
    torch.testing.assert_close(kl_divergence(mean, log_variance), expected.mean())


def test_weight_norm_changes_no_output_and_folds_away_again(vae: AudioVAE, recipe: Recipe) -> None:
    audio = 0.1 * torch.randn(1, 1, 640 * 4)
    with torch.no_grad():
        before = vae.decode(vae.encode(audio))
        names = set(vae.state_dict())
        add_weight_norm(vae)
        torch.testing.assert_close(vae.decode(vae.encode(audio)), before, rtol=1e-4, atol=1e-5)
        for parameter in vae.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
        moved = vae.decode(vae.encode(audio))
        plain = AudioVAE(recipe.config.audio_vae_config)
        plain.load_state_dict(plain_state(vae))
        torch.testing.assert_close(plain.decode(plain.encode(audio)), moved, rtol=1e-4, atol=1e-5)
    assert set(plain_state(vae)) == names


def test_whitening_keeps_what_is_decoded_and_evens_the_latents_out(vae: AudioVAE, store: SpeechStore) -> None:
    torch.manual_seed(1)
    audio = Hearing()(store.crops(8, 64 * 960, 1.0, 1.0))
    with torch.no_grad():
        before = vae.decode(vae.encode(audio))
        whiten(vae, audio)
        latents = vae.encode(audio)
        after = vae.decode(latents)
    torch.testing.assert_close(latents.mean((0, 2)), torch.zeros(latents.shape[1]), atol=1e-3, rtol=0)
    torch.testing.assert_close(latents.std((0, 2)), torch.ones(latents.shape[1]), atol=1e-3, rtol=0)
    # The first frames see the padding before the clip, which whitening does change.
    seen = receptive_field_frames(vae.config) * vae.config.output_hop_length
    assert seen < after.shape[-1]
    torch.testing.assert_close(after[..., seen:], before[..., seen:], atol=1e-4, rtol=1e-3)


def test_the_variance_moves_with_the_mean_under_whitening(vae: AudioVAE, store: SpeechStore) -> None:
    audio = Hearing()(store.crops(4, 64 * 960, 1.0, 1.0))
    with torch.no_grad():
        mean, log_variance = vae.encoder(audio)
        whiten(vae, audio)
        _, whitened = vae.encoder(audio)
    deviation = mean.std((0, 2)).clamp_min(1e-4)[:, None]
    torch.testing.assert_close(whitened, log_variance - 2 * deviation.log(), rtol=1e-4, atol=1e-4)


def test_computing_as_images_changes_no_value_and_no_name(vae: AudioVAE) -> None:
    audio = 0.1 * torch.randn(2, 1, 640 * 5)
    with torch.no_grad():
        mean, log_variance = vae.encoder(audio)
        decoded, names = vae.decode(mean), set(vae.state_dict())
        compute_as_images(vae)
        image_mean, image_log_variance = vae.encoder(audio.unsqueeze(2))
        image_decoded = vae.decode(image_mean).squeeze(2)
    for image, line in ((image_mean, mean), (image_log_variance, log_variance)):
        torch.testing.assert_close(image.squeeze(2), line, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(image_decoded, decoded, rtol=1e-4, atol=1e-5)
    assert set(vae.state_dict()) == names


def test_discriminators_learn_to_tell_noise_from_speech(store: SpeechStore) -> None:
    torch.manual_seed(0)
    judges, real = Discriminators(), store.crops(2, 4800)
    made = 0.05 * torch.randn_like(real)
    optimizer = torch.optim.Adam(judges.parameters(), 2e-3)
    losses = []
    for _ in range(6):
        loss = discriminator_loss(judges(real), judges(made))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    with torch.no_grad():
        wanted = judges(real)
        assert generator_loss(wanted, judges(made)) > generator_loss(wanted, wanted)


def test_an_autoencoding_step_has_finite_losses_and_gradients(vae: AudioVAE, store: SpeechStore) -> None:
    audio = store.crops(2, 8 * 960)
    compute_as_images(vae)
    made, kl = Autoencoding(vae)(Hearing()(audio))
    (MelLoss()(made, audio) + kl).backward()
    assert made.shape == audio.shape
    assert all(p.grad is not None and p.grad.isfinite().all() for p in vae.parameters())


def mel_of(trainer: VAETrainer, audio: torch.Tensor) -> float:
    """The loss of the same stretches before and after: those of each step scatter by more than it falls."""
    with torch.no_grad():
        made, _ = Autoencoding(trainer.vae)(trainer.hearing(audio))
        return trainer.mel_loss(made, audio).item()


def test_stage_one_lowers_the_loss_and_resumes_where_it_stopped(work: Path, recipe: Recipe) -> None:
    trainer = VAETrainer(recipe, work, Ranks(0, 1, CPU), CPU)
    trainer.store.wait_for(1.0, time.time())
    audio = trainer.store.crops(16, trainer.crop_samples)
    before = mel_of(trainer, audio)
    for _ in range(12):
        trainer.train_step(0.2)
    assert mel_of(trainer, audio) < before
    trainer.save(7.0)
    again = VAETrainer(recipe, work, Ranks(0, 1, CPU), CPU)
    again.resume()
    assert (again.step, again.spent) == (12, 7.0)
    pairs = zip(all_tensors(again.groups), all_tensors(trainer.groups), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    trainer.finish(Progress(work, "vae"))
    assert last_report(work, "vae")["state"] == "done"
    finished = AudioVAE(recipe.config.audio_vae_config)
    finished.load_state_dict(torch.load(work / "vae.pt", weights_only=True))


def test_stage_two_trains_the_decoder_alone_and_resumes(work: Path, recipe: Recipe, vae: AudioVAE) -> None:
    trainer = DecoderTrainer(recipe, work, Ranks(0, 1, CPU), CPU)
    trainer.load(vae.state_dict())
    trainer.store.wait_for(1.0, time.time())
    encoder = {name: value.clone() for name, value in trainer.vae.encoder.state_dict().items()}
    decoder = plain_state(trainer.vae.decoder)
    losses = [trainer.train_step(0.1, adversarial) for adversarial in (False, True)]
    assert "judges" not in losses[0] and losses[1]["judges"].isfinite()
    assert all(torch.equal(value, encoder[n]) for n, value in trainer.vae.encoder.state_dict().items())
    moved = plain_state(trainer.vae.decoder)
    assert all(not torch.equal(moved[name], decoder[name]) for name in moved if name.endswith("weight"))
    trainer.save(3.0)
    again = DecoderTrainer(recipe, work, Ranks(0, 1, CPU), CPU)
    again.load(vae.state_dict())
    again.resume()
    assert (again.step, again.spent) == (2, 3.0)
    for name, value in plain_state(again.vae.decoder).items():
        assert torch.equal(value, moved[name])
