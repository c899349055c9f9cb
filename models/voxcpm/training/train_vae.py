"""Stage 1: the whole audio VAE learns to reconstruct speech, on one or several GPUs.

Loss: log-mel L1 plus a little KL. Each rank holds the speech and draws its own crops; gradients are
averaged over ranks in one all-reduce per step. The result is `vae.pt`: plain weights with whitened
latents. Started by pipeline.py, or alone:

    python -m models.voxcpm.training.train_vae --work DIR --deadline $(( $(date +%s) + 400 ))
"""

from __future__ import annotations

import copy
import os
import time
from collections import deque
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from models.voxcpm.audio_vae import AudioVAE

from .dataset import SpeechStore
from .progress import Progress
from .recipe import Recipe
from .training_common import (
    StageClock,
    compiled_if_it_works,
    cosine,
    guarded_step,
    load_checkpoint,
    mean_of,
    prepare_device,
    recipe_named,
    save_checkpoint,
    set_learning_rate,
    stage_parser,
    warmup,
)
from .vae_losses import MelLoss, kl_divergence
from .vae_weights import add_weight_norm, plain_state, whiten

STORE_HOURS = 40.0
STRETCH = 25  # steps whose mean loss the safeguard looks at


class Autoencoding(nn.Module):
    """Encoder, sampled latents, decoder: audio [B, 1, T] -> (reconstruction, KL)."""

    def __init__(self, vae: AudioVAE) -> None:
        super().__init__()
        self.vae = vae

    def forward(self, audio: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.vae.encoder(audio)
        log_variance = log_variance.clamp(-10, 4)
        latents = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.vae.decode(latents), kl_divergence(mean, log_variance)


class Ranks:
    """The processes of one data-parallel run; a single process needs no process group."""

    def __init__(self, rank: int, world: int, device: torch.device) -> None:
        self.rank, self.world, self._device = rank, world, device
        if world > 1:
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, rank=rank, world_size=world, timeout=timedelta(seconds=150))
            dist.all_reduce(torch.ones(1, device=device))

    def average_gradients(self, parameters: list[nn.Parameter]) -> None:
        if self.world == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch._utils._flatten_dense_tensors(gradients)
        dist.all_reduce(flat)
        flat /= self.world
        torch._foreach_copy_(gradients, torch._utils._unflatten_dense_tensors(flat, gradients))

    def share(self, value: float) -> float:
        """The first rank's value, on every rank."""
        if self.world == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=self._device)
        dist.broadcast(shared, 0)
        return shared.item()

    def close(self) -> None:
        if self.world > 1:
            dist.destroy_process_group()


def wait_for_speech(store: SpeechStore, seconds: float, deadline: float) -> None:
    """Block until the store holds `seconds` of speech. Raises TimeoutError after `deadline`."""
    store.refresh()
    while store.hours * 3600 < seconds:
        if time.time() > deadline:
            raise TimeoutError(f"only {store.hours * 3600:.0f} s of speech after all")
        time.sleep(1)
        store.refresh()


def validation_audio(work: Path, device: torch.device, frames_samples: int) -> Tensor:
    """Held-out speech in four voices: [N, 1, T], T a multiple of `frames_samples`."""
    audio = torch.from_numpy(np.load(work / "validation.npy")).to(device)
    return audio[:, None, : audio.shape[1] // frames_samples * frames_samples].float() / 32768


@torch.no_grad()
def validation_mel(vae: AudioVAE, audio: Tensor, mel_loss: MelLoss) -> float:
    """Mel loss of encoding and decoding `audio`, without sampling."""
    parts = [mel_loss(vae.decode(vae.encode(part)), part) for part in audio.split(16)]
    return mean_of(parts)


class Safeguard:
    """Takes training back to an earlier state, at half the learning rate, when the loss jumps.

    `check` is fed the mean loss of each stretch of steps, the same value on every rank, so that all
    ranks turn back together.
    """

    KEPT = 3
    SNAPSHOT_EVERY = 4

    def __init__(self, parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
        self.rate_scale = 1.0
        self.rollbacks = 0
        self._parameters, self._optimizer = parameters, optimizer
        self._best = float("inf")
        self._healthy = 0
        self._snapshots: deque[tuple[list[Tensor], dict]] = deque(maxlen=self.KEPT)
        self._take()

    def check(self, loss: float) -> bool:
        """Note a stretch's mean loss; True when it led to a rollback."""
        if not loss <= 1.25 * self._best + 0.4:
            self._restore()
            return True
        self._best = min(self._best, loss)
        self._healthy += 1
        if self._healthy % self.SNAPSHOT_EVERY == 0:
            self._take()
        return False

    def _take(self) -> None:
        state = copy.deepcopy(self._optimizer.state_dict())
        self._snapshots.append(([p.detach().clone() for p in self._parameters], state))

    @torch.no_grad()
    def _restore(self) -> None:
        values, state = self._snapshots[0]
        torch._foreach_copy_([p.data for p in self._parameters], values)
        self._optimizer.load_state_dict(copy.deepcopy(state))
        self.rate_scale *= 0.5
        self.rollbacks += 1


class VAETrainer:
    """One rank's training loop of stage 1."""

    def __init__(self, recipe: Recipe, work: Path, ranks: Ranks, device: torch.device) -> None:
        self.recipe, self.work, self.ranks, self.device = recipe.vae, work, ranks, device
        self.vae_config = recipe.config.audio_vae_config
        torch.manual_seed(recipe.seed)
        self.vae = AudioVAE(self.vae_config).to(device)
        add_weight_norm(self.vae)
        self.parameters = list(self.vae.parameters())
        self.optimizer = torch.optim.AdamW(
            self.parameters, recipe.vae.learning_rate, betas=(0.8, 0.99), weight_decay=1e-3, fused=True
        )
        self.mel_loss = MelLoss().to(device)
        self.store = SpeechStore(work / "speech", device, min(STORE_HOURS, recipe.hours))
        self.step, self.spent = 0, 0.0
        self._forward: nn.Module = Autoencoding(self.vae)
        self.checkpoint = work / "vae_checkpoint.pt"
        self.clock_every = 25 if device.type == "cuda" else 1  # steps between looks at the shared clock

    def warm_up(self, progress: Progress) -> None:
        """Compile forward and backward on noise; no gradient stays."""
        noise = 0.1 * torch.randn(self.recipe.batch_size, 1, self.crop_samples, device=self.device)

        def trial(forward: nn.Module) -> None:
            made, kl = forward(noise)
            (self.mel_loss(made, noise) + kl).backward()

        self._forward = compiled_if_it_works(self._forward, trial, self.device, progress)
        self.optimizer.zero_grad(set_to_none=True)
        progress.report("warm")

    @property
    def crop_samples(self) -> int:
        return self.recipe.crop_frames * self.vae_config.hop_length

    def resume(self) -> None:
        state = load_checkpoint(self.checkpoint, self.device)
        if state:
            self.vae.load_state_dict(state["vae"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.spent = state["step"], state["spent"]

    def save(self, spent: float) -> None:
        state = {
            "vae": self.vae.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "spent": spent,
        }
        save_checkpoint(self.checkpoint, state)

    def train_step(self, progress: float) -> tuple[Tensor, Tensor]:
        """One step; `progress` 0..1 sets the learning rate. Returns mel loss and KL, still on the device."""
        late = cosine((progress - 0.5) / 0.5) if progress > 0.5 else 1.0
        rate = self.recipe.learning_rate * warmup(self.step, self.recipe.warmup_steps)
        set_learning_rate(self.optimizer, rate * late * self.safeguard.rate_scale)
        audio = self.store.crops(self.recipe.batch_size, self.crop_samples)
        made, kl = self._forward(audio)
        mel = self.mel_loss(made, audio)
        self.optimizer.zero_grad(set_to_none=True)
        (self.recipe.mel_weight * mel + self.recipe.kl_weight * kl).backward()
        self.ranks.average_gradients(self.parameters)
        guarded_step(self.optimizer, torch.nn.utils.clip_grad_norm_(self.parameters, 10.0, foreach=True))
        self.step += 1
        return mel.detach(), kl.detach()

    def went_back(self, recent: list[tuple[Tensor, Tensor]], progress: Progress) -> bool:
        """Show the safeguard the last stretch; True when it took training back."""
        loss = self.ranks.share(mean_of(mel for mel, _ in recent[-STRETCH:]))
        if not self.safeguard.check(loss):
            return False
        progress.report("running", step=self.step, rollbacks=self.safeguard.rollbacks, mel=loss)
        return True

    def run(self, deadline: float, progress: Progress) -> None:
        """Train until `deadline`, then write `vae.pt`."""
        self.warm_up(progress)
        self.resume()
        wait_for_speech(self.store, 30.0 if self.device.type == "cpu" else 120.0, deadline)
        torch.manual_seed(1000 * self.ranks.rank + self.step)
        self.safeguard = Safeguard(self.parameters, self.optimizer)
        clock, first_step, recent, saved = StageClock(deadline, self.spent), self.step, [], time.time()
        done, rate = self.ranks.share(clock.done), 0.0
        progress.report("running", step=self.step, hours=self.store.hours)
        while done < 1:
            recent.append(self.train_step(done + rate * (self.step % self.clock_every)))
            if self.step % self.clock_every == 0:
                if len(recent) >= STRETCH and self.went_back(recent, progress):
                    recent = []
                previous, done = done, self.ranks.share(clock.done)
                rate = max(done - previous, 0.0) / self.clock_every
            if recent and self.step % (100 if self.device.type == "cuda" else 5) == 0:
                mel, kl = (mean_of(values) for values in zip(*recent))
                speed = (self.step - first_step) / clock.elapsed
                progress.report(
                    "running",
                    step=self.step,
                    mel=mel,
                    kl=kl,
                    steps_per_second=speed,
                    seconds_left=clock.seconds_left,
                )
                recent = []
            if self.step % 400 == 0:
                self.store.refresh()
            if self.ranks.rank == 0 and time.time() - saved > 60:
                self.save(clock.spent)
                saved = time.time()
        if self.ranks.rank == 0:
            self.save(clock.spent)
            self.finish(progress)

    def finish(self, progress: Progress) -> None:
        """Fold, whiten, validate and write `vae.pt`."""
        plain = AudioVAE(self.vae_config).to(self.device)
        plain.load_state_dict(plain_state(self.vae))
        frame = self.vae_config.hop_length
        audio = validation_audio(self.work, self.device, frame)
        before = validation_mel(plain, audio, self.mel_loss)
        most = min(1500, self.store.filled // (2 * 64 * frame))
        with torch.no_grad():
            whiten(plain, self.store.crops(max(most, 4), 64 * frame, 1.0, 1.0))
        after = validation_mel(plain, audio, self.mel_loss)
        save_checkpoint(
            self.work / "vae.pt", {name: value.cpu() for name, value in plain.state_dict().items()}
        )
        progress.report("done", step=self.step, validation_mel=after, validation_mel_before_whitening=before)


def main() -> None:
    parser = stage_parser(__doc__.splitlines()[0])
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    args = parser.parse_args()
    recipe = recipe_named(args.recipe)
    device = prepare_device(args.gpu, recipe.seed)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29571")
    progress = Progress(args.work, "vae" if args.rank == 0 else f"vae_rank{args.rank}")
    progress.report("starting", device=str(device), world=args.world)
    ranks = Ranks(args.rank, args.world, device)
    trainer = VAETrainer(recipe, args.work, ranks, device)
    trainer.run(args.deadline, progress)
    ranks.close()
    if args.rank:
        progress.report("done", step=trainer.step)


if __name__ == "__main__":
    main()
