"""Stage 2 of the audio VAE: the encoder stays, the decoder goes on, first alone, then against discriminators.

The latents get some noise, as the language model's output has. The adversarial gradient is balanced against
the mel gradient (`balance.py`), in whose norm what is nearly silent has no part. Until the discriminators
have learnt something, the decoder stands still. On several GPUs gradients are averaged over ranks. Writes
`decoder_plain.pt` (before the adversarial part) and `decoder.pt`, both averages of the weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from models.voxcpm.training.recipe import Recipe, recipe_named
from models.voxcpm.training.speech.dataset import SpeechStore
from models.voxcpm.training.speech.hearing import Hearing
from models.voxcpm.training.stages.common import (
    PATIENCE_SECONDS,
    SAVE_EVERY_SECONDS,
    MovingAverage,
    RecentLosses,
    SharedClock,
    StageClock,
    compiled_if_it_works,
    cosine,
    load_checkpoint,
    prepare_device,
    save_checkpoint,
    stage_parser,
    wait_for,
    warmup,
)
from models.voxcpm.training.stages.optimization import (
    Group,
    Losses,
    OptimizationStep,
    adamw,
    all_tensors,
    restore,
    set_learning_rate,
)
from models.voxcpm.training.stages.progress import Progress
from models.voxcpm.training.stages.ranks import Ranks
from models.voxcpm.training.vae.balance import Balance
from models.voxcpm.training.vae.channels_last import compute_as_images
from models.voxcpm.training.vae.discriminators import (
    Discriminators,
    Judgement,
    discriminator_loss,
    generator_loss,
    margin,
)
from models.voxcpm.training.vae.losses import QUIET_FLOOR, MelLoss
from models.voxcpm.training.vae.validation import Validation
from models.voxcpm.training.vae.weights import add_weight_norm, plain_state
from models.voxcpm.vae.audio_vae import AudioVAE

BATCH_SHRINK = 2  # of stage 1's batch
UNJUDGED_FRAMES = 8
"""Begin of a crop that the discriminators don't see: there the causal decoder knows nothing of what was
before, and that alone would tell made from real."""
JUDGE_RATE_STEPS = 100  # over which the discriminators' learning rate rises
CPU_SECONDS_OF_SPEECH, SECONDS_OF_SPEECH = 30.0, 120.0


class DecoderTrainer:
    """One rank's training loop of stage 2."""

    def __init__(self, recipe: Recipe, work: Path, ranks: Ranks, device: torch.device) -> None:
        self.recipe, self.work, self.ranks, self.device = recipe.vae, work, ranks, device
        self.vae_config = recipe.config.audio_vae_config
        self.plain = AudioVAE(self.vae_config).to(device)  # whole, as it is written and judged
        self.vae = AudioVAE(self.vae_config).to(device)
        self.vae.encoder.requires_grad_(False)
        compute_as_images(self.vae)
        add_weight_norm(self.vae.decoder)
        self.discriminators = Discriminators().to(device)
        self.mel_loss, self.hearing = MelLoss().to(device), Hearing().to(device)
        self.loud_mel_loss = MelLoss(floor=QUIET_FLOOR).to(device)
        self.store = SpeechStore(work / "speech", device, min(recipe.vae.most_hours, recipe.hours))
        self.step, self.spent = 0, 0.0
        self.checkpoint = work / "decoder_checkpoint.pt"
        parameters = (list(self.vae.decoder.parameters()), list(self.discriminators.parameters()))
        self.decoder_group, self.judge_group = (Group(adamw(p), p) for p in parameters)
        self.average = MovingAverage(self.vae.decoder, self.recipe.ema_decay)
        self.adversarial_steps, self.balance = 0, Balance(device)
        frames = UNJUDGED_FRAMES + self.recipe.crop_frames
        self.unjudged = UNJUDGED_FRAMES * self.vae_config.output_hop_length
        batch = max(1, self.recipe.batch_size // BATCH_SHRINK)
        self.audio = 0.1 * torch.randn(batch, 1, frames * self.vae_config.output_hop_length, device=device)
        self.heard = self.hearing(self.audio)
        self._encode: Callable = lambda audio: self.vae.encoder(audio.unsqueeze(2))[0]
        self._decode: Callable = lambda latents: self.vae.decoder(latents).squeeze(2)
        self._alone = OptimizationStep(self.gradients, [self.decoder_group], ranks, device)
        self._against = OptimizationStep(self.adversarial_gradients, self.groups, ranks, device)

    @property
    def groups(self) -> list[Group]:
        return [self.decoder_group, self.judge_group]

    def load(self, state: dict[str, Tensor]) -> None:
        """Start from stage 1's plain weights."""
        self.plain.load_state_dict(state)
        self.vae.encoder.load_state_dict(self.plain.encoder.state_dict())
        normed = AudioVAE(self.vae_config).decoder
        normed.load_state_dict(self.plain.decoder.state_dict())
        add_weight_norm(normed)
        self.vae.decoder.load_state_dict(normed.state_dict())
        self.average = MovingAverage(self.vae.decoder, self.recipe.ema_decay)

    def resume(self) -> None:
        """Go on from this run's own checkpoint, where there is one."""
        state = load_checkpoint(self.checkpoint, self.device)
        if state:
            restore(self.groups, state["tensors"])
            self.average.load_state_dict(state["average"])
            self.step, self.spent = state["step"], state["spent"]
            self.adversarial_steps = state["adversarial_steps"]

    def save(self, spent: float) -> None:
        tensors = [tensor.cpu() for tensor in all_tensors(self.groups)]
        state = {"tensors": tensors, "average": self.average.state_dict()}
        state["adversarial_steps"] = self.adversarial_steps
        save_checkpoint(self.checkpoint, {**state, "step": self.step, "spent": spent})

    def reconstruct(self) -> Tensor:
        """`self.audio` from the latents of `self.heard`, half of them with some noise."""
        with torch.no_grad():
            latents = self._encode(self.heard)
            level = torch.rand(len(latents), 1, 1, 1, device=self.device) * 2 - 1
            latents += torch.randn_like(latents) * level.clamp_min(0) * self.recipe.most_latent_noise
        return self._decode(latents)

    def judge(self, audio: Tensor) -> list[Judgement]:
        """What the discriminators say of crops [B, 1, T], after the first UNJUDGED_FRAMES of each."""
        audio = audio[..., self.unjudged :]
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"):
            return self.discriminators(audio)

    def mel_gradient(self, made: Tensor, loss: MelLoss) -> tuple[Tensor, Tensor]:
        """(mel loss, its gradient at the reconstruction)."""
        output = made.detach().requires_grad_()
        mel = loss(output, self.audio)
        return mel, torch.autograd.grad(mel, output)[0]

    def gradients(self) -> Losses:
        """Backward of one batch in `self.audio` with the mel loss alone."""
        made = self.reconstruct()
        mel, gradient = self.mel_gradient(made, self.mel_loss)
        made.backward(self.recipe.mel_weight * gradient)
        return {"mel": mel}

    def adversarial_gradients(self) -> Losses:
        """Backward with the discriminators as well; one pass gives their gradient and the decoder's."""
        made = self.reconstruct()
        mel, gradient = self.mel_gradient(made, self.mel_loss)
        _, loud = self.mel_gradient(made, self.loud_mel_loss)
        output = made.detach().requires_grad_()
        real, seen = self.judge(self.audio), self.judge(output)
        loss = discriminator_loss(real, seen)
        loss.backward(inputs=self.judge_group.parameters, retain_graph=True)
        wanted = [(score.detach(), [f.detach() for f in features]) for score, features in real]
        other = torch.autograd.grad(generator_loss(wanted, seen), output)[0]
        made.backward(self.recipe.mel_weight * (gradient + self.balance.share(loud, other) * other))
        return {"mel": mel, "judges": loss, "margin": margin(real, seen)}

    @property
    def adversarial_ratio(self) -> float:
        """The ratio in this step: 0 while the discriminators learn what the decoder does wrong."""
        since = self.adversarial_steps - self.recipe.judge_warmup_steps
        return self.recipe.adversarial_ratio * min(1.0, max(0.0, since / self.recipe.adversarial_ramp_steps))

    def train_step(self, progress: float, adversarial: bool) -> Losses:
        """One step; returns losses on the device."""
        listening = adversarial and self.adversarial_steps < self.recipe.judge_warmup_steps
        rate = 0.0 if listening else warmup(self.step, self.recipe.warmup_steps) * cosine(progress)
        set_learning_rate(self.decoder_group.optimizer, self.recipe.decoder_learning_rate * rate)
        rate = warmup(self.adversarial_steps, JUDGE_RATE_STEPS)
        set_learning_rate(self.judge_group.optimizer, self.recipe.judge_learning_rate * rate)
        self.audio.copy_(self.store.crops(len(self.audio), self.audio.shape[-1]))
        self.heard.copy_(self.hearing(self.audio))
        if adversarial:
            self.adversarial_steps += 1
            self.balance.set_ratio(self.adversarial_ratio)
        losses = self._against() if adversarial else self._alone()
        self.average.update()
        self.step += 1
        return losses

    def warm_up(self, progress: Progress) -> None:
        """Compile and capture both kinds of step on noise, so that what fails does so early."""

        def encode(function: Callable) -> None:
            with torch.no_grad():
                function(self.heard)

        def decode(function: Callable) -> None:
            with torch.no_grad():
                latents = self._encode(self.heard)
            function(latents).square().mean().backward()

        self._encode = compiled_if_it_works(self._encode, encode, self.device, progress)
        self._decode = compiled_if_it_works(self._decode, decode, self.device, progress)
        for kind in (self._alone, self._against):
            kind.capture(progress)
        self.balance.forget()
        progress.report("warm")

    def validate_and_write(self, name: str, validation: Validation) -> dict[str, float]:
        """The first rank writes the averaged decoder's weights; returns how they do on held-out speech."""
        with self.average.applied():
            state = plain_state(self.vae.decoder)
        self.plain.decoder.load_state_dict(state)
        save_checkpoint(self.work / name, {k: v.cpu() for k, v in state.items()})
        return validation.figures(self.plain)

    def prepare(self, deadline: float) -> None:
        """Wait for stage 1 and for speech."""
        wait_for(self.work / "vae.pt", deadline + PATIENCE_SECONDS)
        self.load(load_checkpoint(self.work / "vae.pt", self.device))
        self.resume()
        seconds = CPU_SECONDS_OF_SPEECH if self.device.type == "cpu" else SECONDS_OF_SPEECH
        self.store.wait_for(seconds, deadline + PATIENCE_SECONDS)
        torch.manual_seed(1000 * self.ranks.rank + self.step)

    def run(self, deadline: float, progress: Progress) -> None:
        """Wait for stage 1, then train until `deadline`."""
        self.warm_up(progress)
        self.prepare(deadline)
        first = self.ranks.rank == 0
        validation = Validation(self.work, self.device, self.vae_config.output_hop_length)
        clock, recent, first_step = StageClock(deadline, self.spent), RecentLosses(), self.step
        shared, saved = SharedClock(clock, self.ranks, self.device), time.time()
        plain_written = shared.done >= self.recipe.adversarial_from
        progress.report("running", step=self.step, **validation.figures(self.plain))
        while shared.done < 1 or self.step < self.recipe.least_steps:
            adversarial = shared.done >= self.recipe.adversarial_from
            if adversarial and not plain_written:
                plain_written = True
                if first:
                    figures = self.validate_and_write("decoder_plain.pt", validation)
                    progress.report("running", step=self.step, **figures, note="adversarial part begins")
            recent.add(**self.train_step(shared.done, adversarial))
            shared.look(self.step)
            if first and self.step % self.recipe.validate_every == 0:
                figures = self.validate_and_write("decoder.pt", validation)
                pace = clock.pace(self.step - first_step)
                progress.report("running", step=self.step, **recent.take(), **figures, **pace)
            if self.step % 1000 == 0:
                recent.clear()
                self.store.refresh()
            if first and time.time() - saved > SAVE_EVERY_SECONDS:
                self.save(clock.spent)
                saved = time.time()
        if first:
            self.save(clock.spent)
            progress.report("done", step=self.step, **self.validate_and_write("decoder.pt", validation))


def main() -> None:
    parser = stage_parser(__doc__.splitlines()[0])
    Ranks.add_arguments(parser)
    args = parser.parse_args()
    recipe = recipe_named(args.recipe, warm_start=args.init is not None)
    device = prepare_device(args.gpu, recipe.seed + 1)
    progress = Progress(args.work, "decoder" if args.rank == 0 else f"decoder_rank{args.rank}")
    progress.report("starting", device=str(device), world=args.world, init=args.init and args.init.name)
    ranks = Ranks.of_arguments(args, device)
    trainer = DecoderTrainer(recipe, args.work, ranks, device)
    trainer.run(args.deadline, progress)
    ranks.close()
    if args.rank:
        progress.report("done", step=trainer.step)


if __name__ == "__main__":
    main()
