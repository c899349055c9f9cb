"""Stage 2 of the audio VAE: the encoder stays, the decoder goes on, first alone, then against discriminators.

The latents get some noise, as the language model's output has. The adversarial gradient at the
decoder's output is scaled to a fixed share of the mel gradient's norm (the balancer of Défossez et
al. 2022), so that the mel loss keeps falling. Writes `decoder_plain.pt` (before the adversarial part)
and `decoder.pt`, both averages of the weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.voxcpm.audio_vae import AudioVAE

from .dataset import SpeechStore
from .discriminators import Discriminators, discriminator_loss, generator_loss
from .progress import Progress
from .recipe import Recipe, recipe_named
from .training_common import (
    PATIENCE_SECONDS,
    MovingAverage,
    RecentLosses,
    StageClock,
    compiled_if_it_works,
    cosine,
    guarded_step,
    load_checkpoint,
    prepare_device,
    save_checkpoint,
    set_learning_rate,
    stage_parser,
    wait_for,
    warmup,
)
from .vae_losses import MelLoss
from .vae_weights import add_weight_norm, plain_state
from .validation import Validation

SAVE_EVERY_SECONDS = 60.0
BATCH_SHRINK = 2  # crops are this much longer than in stage 1, batches that much smaller


class DecoderTrainer:
    """The training loop of stage 2."""

    def __init__(self, recipe: Recipe, work: Path, device: torch.device) -> None:
        self.recipe, self.work, self.device = recipe.vae, work, device
        self.vae_config = recipe.config.audio_vae_config
        self.vae = AudioVAE(self.vae_config).to(device)
        self.vae.encoder.requires_grad_(False)
        self.discriminators = Discriminators().to(device)
        self.mel_loss = MelLoss().to(device)
        self.store = SpeechStore(work / "speech", device, min(recipe.vae.most_hours, recipe.hours))
        self.step, self.spent, self.norms = 0, 0.0, {}
        self.checkpoint = work / "decoder_checkpoint.pt"
        self.prepare()

    def prepare(self) -> None:
        """Set up everything that refers to the decoder's current parameters."""
        add_weight_norm(self.vae.decoder)
        self.parameters = list(self.vae.decoder.parameters())
        options = {"betas": (0.8, 0.99), "weight_decay": 1e-3, "fused": True}
        self.optimizer = torch.optim.AdamW(self.parameters, self.recipe.decoder_learning_rate, **options)
        self.judge_optimizer = torch.optim.AdamW(
            self.discriminators.parameters(), self.recipe.decoder_learning_rate / 2, **options
        )
        self.average = MovingAverage(self.vae.decoder, self.recipe.ema_decay)
        self._encode, self._decode = self.vae.encode, self.vae.decode

    def load(self, state: dict[str, Tensor]) -> None:
        """Start from stage 1's plain weights."""
        plain = AudioVAE(self.vae_config).to(self.device)
        plain.load_state_dict(state)
        self.vae.encoder.load_state_dict(plain.encoder.state_dict())
        add_weight_norm(plain.decoder)
        self.vae.decoder.load_state_dict(plain.decoder.state_dict())
        self.average = MovingAverage(self.vae.decoder, self.recipe.ema_decay)

    def resume(self) -> None:
        """Go on from this run's own checkpoint, where there is one."""
        state = load_checkpoint(self.checkpoint, self.device)
        if state:
            for name, part in self._parts().items():
                part.load_state_dict(state[name])
            self.step, self.spent = state["step"], state["spent"]

    def save(self, spent: float) -> None:
        state = {name: part.state_dict() for name, part in self._parts().items()}
        save_checkpoint(self.checkpoint, {**state, "step": self.step, "spent": spent})

    def _parts(self) -> dict[str, Any]:
        return {
            "decoder": self.vae.decoder,
            "discriminators": self.discriminators,
            "optimizer": self.optimizer,
            "judge_optimizer": self.judge_optimizer,
            "average": self.average,
        }

    def crops(self) -> Tensor:
        frames = self.recipe.crop_frames * BATCH_SHRINK
        return self.store.crops(
            max(1, self.recipe.batch_size // BATCH_SHRINK), frames * self.vae_config.hop_length
        )

    def noisy_latents(self, audio: Tensor) -> Tensor:
        """Latents of `audio`, half of them with noise of up to `most_latent_noise` deviations."""
        with torch.no_grad():
            latents = self._encode(audio)
            level = torch.rand(len(audio), 1, 1, device=self.device) * 2 - 1
            return latents + torch.randn_like(latents) * level.clamp_min(0) * self.recipe.most_latent_noise

    def judge(self, audio: Tensor) -> list:
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"):
            return self.discriminators(audio)

    def smoothed_norm(self, name: str, gradient: Tensor) -> Tensor:
        norm = gradient.norm()
        self.norms[name] = norm if name not in self.norms else self.norms[name].lerp(norm, 0.05)
        return self.norms[name].clamp_min(1e-8)

    def adversarial_gradient(self, output: Tensor, audio: Tensor) -> tuple[Tensor, Tensor]:
        """One step of the discriminators; returns the generator's gradient at `output`, and their loss."""
        loss = discriminator_loss(self.judge(audio), self.judge(output.detach()))
        self.judge_optimizer.zero_grad(set_to_none=True)
        loss.backward()
        guarded_step(
            self.judge_optimizer,
            torch.nn.utils.clip_grad_norm_(self.discriminators.parameters(), 10.0, foreach=True),
        )
        self.discriminators.requires_grad_(False)
        with torch.no_grad():
            wanted = self.judge(audio)
        gradient = torch.autograd.grad(generator_loss(wanted, self.judge(output)), output)[0]
        self.discriminators.requires_grad_(True)
        return gradient, loss.detach()

    def train_step(self, progress: float, adversarial: bool) -> dict[str, Tensor]:
        """One step; returns losses on the device."""
        rate = self.recipe.decoder_learning_rate * warmup(self.step, self.recipe.warmup_steps)
        set_learning_rate(self.optimizer, rate * cosine(progress))
        set_learning_rate(self.judge_optimizer, rate / 2)
        audio = self.crops()
        made = self._decode(self.noisy_latents(audio))
        output = made.detach().requires_grad_()
        mel = self.mel_loss(output, audio)
        gradient = torch.autograd.grad(mel, output)[0]
        losses = {"mel": mel.detach()}
        if adversarial:
            other, losses["judges"] = self.adversarial_gradient(output, audio)
            share = (
                self.recipe.adversarial_ratio
                * self.smoothed_norm("mel", gradient)
                / self.smoothed_norm("adversarial", other)
            )
            gradient = gradient + share * other
        self.optimizer.zero_grad(set_to_none=True)
        made.backward(self.recipe.mel_weight * gradient)
        guarded_step(self.optimizer, torch.nn.utils.clip_grad_norm_(self.parameters, 10.0, foreach=True))
        self.average.update()
        self.step += 1
        return losses

    def compile(self, progress: Progress) -> None:
        """Compile encoding and decoding of one batch of crops, where that works."""

        def encode(function: Callable) -> None:
            with torch.no_grad():
                function(self.crops())

        def decode(function: Callable) -> None:
            with torch.no_grad():
                latents = self.vae.encode(self.crops())
            function(latents).square().mean().backward()

        self._encode = compiled_if_it_works(self._encode, encode, self.device, progress)
        self._decode = compiled_if_it_works(self._decode, decode, self.device, progress)

    def warm_up(self, progress: Progress) -> None:
        """Compile, and run both kinds of step on noise, so that what fails does so early."""
        self.store.audio[: 16000 * 10].random_(-2000, 2000)
        self.store.filled = 16000 * 10
        self.compile(progress)
        for adversarial in (False, True, True):
            self.train_step(0.0, adversarial)
        self.store.filled, self.step, self.norms = 0, 0, {}
        for optimizer in (self.optimizer, self.judge_optimizer):
            optimizer.state.clear()

    def validate_and_write(self, name: str, validation: Validation) -> float:
        """Write the averaged decoder's plain weights; returns its validation mel loss."""
        with self.average.applied():
            mel = validation.mel(self.vae)
            plain = plain_state(self.vae.decoder)
        save_checkpoint(self.work / name, {k: v.cpu() for k, v in plain.items()})
        return mel

    def run(self, deadline: float, progress: Progress) -> None:
        """Wait for stage 1, then train until `deadline`."""
        self.warm_up(progress)
        progress.report("warm")
        wait_for(self.work / "vae.pt", deadline + PATIENCE_SECONDS)
        self.load(load_checkpoint(self.work / "vae.pt", self.device))
        self.resume()
        self.store.wait_for(30.0, deadline + PATIENCE_SECONDS)
        validation = Validation(self.work, self.device, self.vae_config.hop_length)
        clock, recent, first_step = StageClock(deadline, self.spent), RecentLosses(), self.step
        plain_written, saved = clock.done >= self.recipe.adversarial_from, time.time()
        progress.report("running", step=self.step, validation_mel=validation.mel(self.vae))
        while (done := clock.done) < 1 or self.step < self.recipe.least_steps:
            adversarial = done >= self.recipe.adversarial_from
            if adversarial and not plain_written:
                mel = self.validate_and_write("decoder_plain.pt", validation)
                progress.report("running", step=self.step, validation_mel=mel, note="adversarial part begins")
                plain_written = True
            recent.add(**self.train_step(done, adversarial))
            if self.step % self.recipe.validate_every == 0:
                mel = self.validate_and_write("decoder.pt", validation)
                pace = clock.pace(self.step - first_step)
                progress.report("running", step=self.step, **recent.take(), validation_mel=mel, **pace)
            if self.step % 500 == 0:
                self.store.refresh()
            if time.time() - saved > SAVE_EVERY_SECONDS:
                self.save(clock.spent)
                saved = time.time()
        self.save(clock.spent)
        mel = self.validate_and_write("decoder.pt", validation)
        progress.report("done", step=self.step, validation_mel=mel)


def main() -> None:
    args = stage_parser(__doc__.splitlines()[0]).parse_args()
    recipe = recipe_named(args.recipe, warm_start=args.init is not None)
    device = prepare_device(args.gpu, recipe.seed + 1)
    progress = Progress(args.work, "decoder")
    progress.report("starting", device=str(device), init=args.init and args.init.name)
    DecoderTrainer(recipe, args.work, device).run(args.deadline, progress)


if __name__ == "__main__":
    main()
