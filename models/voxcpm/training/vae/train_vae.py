"""Stage 1: the whole audio VAE learns to reconstruct speech, on one or several GPUs.

Loss: log-mel L1 plus a little KL. Each rank holds the speech and draws its own crops; gradients are
averaged over ranks in one all-reduce per step. The result is `vae.pt`: plain weights with whitened
latents. With `--init` the weights there become `vae.pt` as they stand, or with `--retrain` are where training
starts. Started by pipeline.py, or alone:

    python -m models.voxcpm.training.vae.train_vae --work DIR --deadline $(( $(date +%s) + 400 ))
"""

from __future__ import annotations

import time
from pathlib import Path

import torch
from torch import Tensor, nn

from models.voxcpm.training.checkpoint.warm_start import load_vae
from models.voxcpm.training.recipe import Recipe, recipe_named
from models.voxcpm.training.speech.dataset import SpeechStore
from models.voxcpm.training.speech.hearing import Hearing
from models.voxcpm.training.stages.common import (
    PATIENCE_SECONDS,
    SAVE_EVERY_SECONDS,
    RecentLosses,
    SharedClock,
    StageClock,
    compiled_if_it_works,
    cosine,
    load_checkpoint,
    prepare_device,
    save_checkpoint,
    stage_parser,
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
from models.voxcpm.training.vae.channels_last import compute_as_images
from models.voxcpm.training.vae.losses import MelLoss, kl_divergence
from models.voxcpm.training.vae.safeguard import Safeguard
from models.voxcpm.training.vae.validation import Validation
from models.voxcpm.training.vae.weights import add_weight_norm, plain_state, whiten
from models.voxcpm.vae.audio_vae import AudioVAE

STRETCH = 25  # steps whose mean loss the safeguard looks at


class Autoencoding(nn.Module):
    """Encoder, sampled latents, decoder: what is heard [B, 1, T] -> (what is spoken [B, 1, 1.5 T], KL)."""

    def __init__(self, vae: AudioVAE) -> None:
        """vae: one that computes as images."""
        super().__init__()
        self.vae = vae

    def forward(self, heard: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.vae.encoder(heard.unsqueeze(2))
        log_variance = log_variance.clamp(-10, 4)
        latents = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.vae.decode(latents).squeeze(2), kl_divergence(mean, log_variance)


class VAETrainer:
    """One rank's training loop of stage 1. `init`: folder of the weights to start from, or None."""

    def __init__(
        self, recipe: Recipe, work: Path, ranks: Ranks, device: torch.device, init: Path | None = None
    ) -> None:
        self.recipe, self.work, self.ranks, self.device = recipe.vae, work, ranks, device
        self.vae_config = recipe.config.audio_vae_config
        torch.manual_seed(recipe.seed)
        self.vae = AudioVAE(self.vae_config).to(device)
        if init:
            self.vae.load_state_dict(load_vae(init, recipe.config))
        compute_as_images(self.vae)
        add_weight_norm(self.vae)
        parameters = list(self.vae.parameters())
        self.optimizer = adamw(parameters)
        self.groups = [Group(self.optimizer, parameters)]
        self.safeguard = Safeguard(self.groups)
        self.mel_loss, self.hearing = MelLoss().to(device), Hearing().to(device)
        self.store = SpeechStore(work / "speech", device, min(recipe.vae.most_hours, recipe.hours))
        self.step, self.spent = 0, 0.0
        self.audio = 0.1 * torch.randn(recipe.vae.batch_size, 1, self.crop_samples, device=device)
        self.heard = self.hearing(self.audio)
        self._forward: nn.Module = Autoencoding(self.vae)
        self._optimization = OptimizationStep(self.gradients, self.groups, ranks, device)
        self.checkpoint = work / "vae_checkpoint.pt"

    def warm_up(self, progress: Progress) -> None:
        """Compile and capture on noise; nothing is learnt."""

        def trial(forward: nn.Module) -> None:
            made, kl = forward(self.heard)
            (self.mel_loss(made, self.audio) + kl).backward()

        self._forward = compiled_if_it_works(self._forward, trial, self.device, progress)
        self._optimization.capture(progress)
        progress.report("warm")

    @property
    def crop_samples(self) -> int:
        return self.recipe.crop_frames * self.vae_config.output_hop_length

    def resume(self) -> None:
        state = load_checkpoint(self.checkpoint, self.device)
        if state:
            restore(self.groups, state["tensors"])
            self.step, self.spent = state["step"], state["spent"]

    def save(self, spent: float) -> None:
        tensors = [tensor.cpu() for tensor in all_tensors(self.groups)]
        save_checkpoint(self.checkpoint, {"tensors": tensors, "step": self.step, "spent": spent})

    def gradients(self) -> Losses:
        """Backward of one batch in `self.audio`."""
        made, kl = self._forward(self.heard)
        mel = self.mel_loss(made, self.audio)
        (self.recipe.mel_weight * mel + self.recipe.kl_weight * kl).backward()
        return {"mel": mel, "kl": kl}

    def train_step(self, progress: float) -> Losses:
        """One step; `progress` 0..1 sets the learning rate. Losses are still on the device."""
        late = cosine((progress - 0.5) / 0.5) if progress > 0.5 else 1.0
        rate = self.recipe.learning_rate * warmup(self.step, self.recipe.warmup_steps)
        set_learning_rate(self.optimizer, rate * late * self.safeguard.rate_scale)
        self.audio.copy_(self.store.crops(self.recipe.batch_size, self.crop_samples))
        self.heard.copy_(self.hearing(self.audio))
        self.step += 1
        return self._optimization()

    def went_back(self, recent: RecentLosses, progress: Progress) -> bool:
        """Show the safeguard the last stretch; True when it took training back."""
        loss = self.ranks.share(recent.mean("mel", STRETCH))
        if not self.safeguard.check(loss):
            return False
        progress.report("running", step=self.step, rollbacks=self.safeguard.rollbacks, mel=loss)
        return True

    def run(self, deadline: float, progress: Progress) -> None:
        """Train until `deadline`; the first rank then writes `vae.pt`."""
        self.warm_up(progress)
        self.resume()
        self.store.wait_for(30.0 if self.device.type == "cpu" else 120.0, deadline + PATIENCE_SECONDS)
        torch.manual_seed(1000 * self.ranks.rank + self.step)
        self.safeguard.remember()
        clock, recent = StageClock(deadline, self.spent), RecentLosses()
        shared, first_step, saved = SharedClock(clock, self.ranks, self.device), self.step, time.time()
        progress.report("running", step=self.step, hours=self.store.hours)
        while shared.done < 1 or self.step < self.recipe.least_steps:
            recent.add(**self.train_step(shared.done))
            if shared.look(self.step) and len(recent) >= STRETCH and self.went_back(recent, progress):
                recent.clear()
            if len(recent) and self.step % (200 if self.device.type == "cuda" else 5) == 0:
                pace = clock.pace(self.step - first_step)
                progress.report("running", step=self.step, **recent.take(), **pace)
            if self.step % 1000 == 0:
                self.store.refresh()
            if self.ranks.rank == 0 and time.time() - saved > SAVE_EVERY_SECONDS:
                self.save(clock.spent)
                saved = time.time()
        if self.ranks.rank == 0:
            self.save(clock.spent)
            self.finish(progress)

    def finish(self, progress: Progress) -> None:
        """Fold, whiten, validate and write `vae.pt`."""
        plain = AudioVAE(self.vae_config).to(self.device)
        plain.load_state_dict(plain_state(self.vae))
        frame = self.vae_config.output_hop_length
        validation = Validation(self.work, self.device, frame)
        before = validation.mel(plain)
        most = min(1500, self.store.filled // (2 * 64 * frame))
        whiten(plain, self.hearing(self.store.crops(max(most, 4), 64 * frame, 1.0, 1.0)))
        write_vae(self.work, plain)
        figures = validation.figures(plain)
        progress.report("done", step=self.step, **figures, validation_mel_before_whitening=before)


def write_vae(work: Path, vae: AudioVAE) -> None:
    """`vae.pt`: plain fp32 weights on the CPU."""
    save_checkpoint(work / "vae.pt", {name: value.cpu() for name, value in vae.state_dict().items()})


def adopt(init: Path, recipe: Recipe, work: Path, device: torch.device, progress: Progress) -> None:
    """A warm start: the VAE in `init` becomes `vae.pt` as it stands, so that its latents stay."""
    vae = AudioVAE(recipe.config.audio_vae_config)
    vae.load_state_dict(load_vae(init, recipe.config))
    write_vae(work, vae)
    validation = Validation(work, device, vae.config.output_hop_length)
    progress.report("done", step=0, **validation.figures(vae.to(device)))


def main() -> None:
    parser = stage_parser(__doc__.splitlines()[0])
    Ranks.add_arguments(parser)
    parser.add_argument("--retrain", action="store_true", help="train on from --init, the encoder too")
    args = parser.parse_args()
    recipe = recipe_named(args.recipe)
    device = prepare_device(args.gpu, recipe.seed)
    progress = Progress(args.work, "vae" if args.rank == 0 else f"vae_rank{args.rank}")
    progress.report("starting", device=str(device), world=args.world, init=args.init and args.init.name)
    if (args.work / "vae.pt").exists():
        progress.report("done", note="finished by an earlier run")
        return
    if args.init and not args.retrain:
        adopt(args.init, recipe, args.work, device, progress)
        return
    ranks = Ranks.of_arguments(args, device)
    trainer = VAETrainer(recipe, args.work, ranks, device, args.init)
    trainer.run(args.deadline, progress)
    ranks.close()
    if args.rank:
        progress.report("done", step=trainer.step)


if __name__ == "__main__":
    main()
