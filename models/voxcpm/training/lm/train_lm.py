"""The language model learns to speak: flow matching and stop prediction on the latents of all speech.

Waits for stage 1 (`vae.pt`) with everything compiled, encodes the speech, again while the teachers still
write more of it, and trains until its deadline. Writes `lm.pt` (averaged weights) regularly and
`samples.npz` at the end. With `--init` it goes on from weights there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from models.voxcpm.model import VoxCPMModel
from models.voxcpm.training.checkpoint.warm_start import load_language_model
from models.voxcpm.training.lm.batches import LatentCorpus
from models.voxcpm.training.lm.encoded import EncodedSpeech
from models.voxcpm.training.lm.feeder import BatchFeeder, invented_corpus
from models.voxcpm.training.lm.flat_attention import ROW_ATTENTIONS
from models.voxcpm.training.lm.generation import generate
from models.voxcpm.training.lm.loss import TrainingLoss, initialize
from models.voxcpm.training.lm.samples import write_samples
from models.voxcpm.training.recipe import Recipe, recipe_named
from models.voxcpm.training.stages.common import (
    MovingAverage,
    RecentLosses,
    StageClock,
    compiled,
    cosine,
    load_checkpoint,
    prepare_device,
    save_checkpoint,
    stage_parser,
    warmup,
)
from models.voxcpm.training.stages.optimization import guarded_step, set_learning_rate
from models.voxcpm.training.stages.progress import Progress
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines
from models.voxcpm.training.texts.tokenizer_file import build_tokenizer
from models.voxcpm.vae.audio_vae import AudioVAE

AVERAGE_EVERY = 10
AVERAGE_DECAY = 0.99
WRITE_EVERY_SECONDS = 200.0
LOOK_EVERY_SECONDS = 5.0
INVENTED_PATCHES = 4096


class LMTrainer:
    """The training loop of the language model. `init`: folder to start from, or None."""

    def __init__(
        self,
        recipe: Recipe,
        work: Path,
        device: torch.device,
        progress: Progress,
        init: Path | None = None,
    ) -> None:
        self.recipe, self.work, self.device, self.progress, self.init = recipe, work, device, progress, init
        self.config, self.checkpoint = recipe.config, work / "lm_checkpoint.pt"
        self.tokenizer = build_tokenizer()
        self.vae = AudioVAE(self.config.audio_vae_config).to(device).eval()
        self.speech = EncodedSpeech(recipe, work, self.vae, self.tokenizer, progress)
        self.model = VoxCPMModel(self.config).to(device).train()
        self.loss: Callable = TrainingLoss(self.model, recipe.lm)
        matrices = [p for p in self.model.parameters() if p.ndim >= 2]
        vectors = [p for p in self.model.parameters() if p.ndim < 2]
        groups = [
            {"params": matrices, "weight_decay": recipe.lm.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, recipe.lm.learning_rate, betas=(0.9, 0.98), fused=True)
        self.start_anew()

    def start_anew(self) -> None:
        """First weights, in place, so that what is compiled stays valid; optimizer and average forget."""
        torch.manual_seed(self.recipe.seed + 2)
        if self.init:
            load_language_model(self.init, self.model)
        else:
            initialize(self.model)
        self.optimizer.state.clear()
        self.average = MovingAverage(self.model, AVERAGE_DECAY)
        self.step, self.spent, self.patches_seen = 0, 0.0, 0

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda")

    def warm_up(self) -> None:
        """Compile the step on invented data with the row attention that is fastest here, then start anew."""
        latents = torch.randn(
            INVENTED_PATCHES, self.config.patch_size, self.config.feat_dim, device=self.device
        ).half()
        feeder = BatchFeeder(invented_corpus(INVENTED_PATCHES), self.recipe.lm, self.device, 0)
        seconds = self._compare_row_attentions(feeder, latents)
        best = min(seconds, key=seconds.get) if seconds else "sdpa"
        self._use_row_attention(best, compile_step=bool(seconds))
        self.speech.compile()
        for _ in range(3):
            self.train_step(feeder, latents, 0.0)
        feeder.close()
        self.model.eval()
        with self.autocast():
            generate(self.model, [[5, 6, 7]] * 2, [None, latents[:20]], 3)
        self.model.train()
        self.start_anew()
        self.progress.report("warm", row_attention=best)

    def _use_row_attention(self, name: str, compile_step: bool = True) -> None:
        for part in (self.model.feat_encoder, self.model.dit):
            part.row_attention = ROW_ATTENTIONS[name]
        torch._dynamo.reset()
        self.loss = TrainingLoss(self.model, self.recipe.lm)
        if compile_step:
            self.loss = compiled(self.loss, self.device)

    def _compare_row_attentions(self, feeder: BatchFeeder, latents: Tensor) -> dict[str, float]:
        """Seconds per step with each row attention that works."""
        seconds: dict[str, float] = {}
        for name in ("broadcast", "einsum") if self.device.type == "cuda" else ("sdpa",):
            try:
                self._use_row_attention(name)
                seconds[name] = self._seconds_per_step(feeder, latents)
                self.progress.report("warming", row_attention=name, seconds_per_step=seconds[name])
            except Exception as error:  # a compiler's failure of any kind leaves the other form
                self.progress.report("warming", row_attention=name, error=repr(error)[:2000])
        return seconds

    def _seconds_per_step(self, feeder: BatchFeeder, latents: Tensor) -> float:
        for count in (2, 8):
            began = time.time()
            for _ in range(count):
                flow, _ = self.train_step(feeder, latents, 0.0)
            flow.item()
        return (time.time() - began) / 8

    def train_step(self, feeder: BatchFeeder, latents: Tensor, done: float) -> tuple[Tensor, Tensor]:
        """One step; `done` 0..1 sets the learning rate. Returns flow and stop loss, still on the device."""
        recipe = self.recipe.lm
        set_learning_rate(
            self.optimizer, recipe.learning_rate * warmup(self.step, recipe.warmup_steps) * cosine(done, 0.02)
        )
        batch, patches = feeder.next()
        features, target = latents[batch.audio_patches].float(), latents[batch.flow_patches].float()
        with self.autocast():
            flow, stop = self.loss(batch, features, target)
        (flow + recipe.stop_weight * stop).backward()
        guarded_step(
            self.optimizer, torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, foreach=True)
        )
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.patches_seen += patches
        if self.step % AVERAGE_EVERY == 0:
            self.average.update()
        return flow.detach(), stop.detach()

    def feeder(self, corpus: LatentCorpus) -> BatchFeeder:
        return BatchFeeder(corpus, self.recipe.lm, self.device, self.recipe.seed + self.step)

    def resume(self) -> None:
        """Go on from this run's own checkpoint, where there is one."""
        state = load_checkpoint(self.checkpoint, self.device)
        if state:
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.average.load_state_dict(state["average"])
            self.step, self.spent = state["step"], state["spent"]

    def write(self, spent: float) -> None:
        """Averaged weights for export, and everything needed to go on."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "average": self.average.state_dict(),
            "step": self.step,
            "spent": spent,
        }
        save_checkpoint(self.checkpoint, state)
        with self.average.applied():
            plain = {k: v.detach().float().cpu() for k, v in self.model.state_dict().items()}
            save_checkpoint(self.work / "lm.pt", plain)

    def run(self, deadline: float, speech_until: float = 0.0) -> None:
        """Warm up, wait for VAE and speech, train until `deadline`, speak samples."""
        self.warm_up()
        latents, corpus = self.speech.wait_and_encode(deadline, speech_until)
        self.resume()
        feeder = self.feeder(corpus)
        clock, recent = StageClock(deadline, self.spent), RecentLosses()
        first_step, written = self.step, time.time()
        looked = written
        while (done := clock.done) < 1 or self.step < self.recipe.lm.least_steps:
            if done > 2 / 3:
                feeder.sentence_share = self.recipe.lm.late_sentence_share
            flow, stop = self.train_step(feeder, latents, done)
            recent.add(flow=flow, stop=stop)
            if self.step % (100 if self.device.type == "cuda" else 5) == 0:
                hours = self.patches_seen * self.config.patch_seconds / 3600
                pace = clock.pace(self.step - first_step)
                self.progress.report("running", step=self.step, **recent.take(), **pace, hours_seen=hours)
            if not self.speech.is_whole and time.time() - looked > LOOK_EVERY_SECONDS:
                looked = time.time()
                if self.speech.has_grown(speech_until):
                    feeder.close()
                    latents, corpus = self.speech.encode()
                    feeder = self.feeder(corpus)
            if time.time() - written > WRITE_EVERY_SECONDS:
                self.write(clock.spent)
                written = time.time()
        self.write(clock.spent)
        feeder.close()
        self.speak_samples(latents, corpus)
        self.progress.report("done", step=self.step)

    def speak_samples(self, latents: Tensor, corpus: LatentCorpus) -> None:
        """Held-out sentences by the averaged weights and the newest decoder: `samples.npz`."""
        better = load_checkpoint(self.work / "decoder.pt", self.device)
        if better:
            self.vae.decoder.load_state_dict(better)
        most_patches = 190 if self.device.type == "cuda" else 6
        texts = read_lines(HELD_OUT_FILE)[: self.recipe.validation_sentences]
        path, models = self.work / "samples.npz", (self.model, self.vae, self.tokenizer)
        self.model.eval()
        with self.average.applied(), self.autocast():
            counts = write_samples(path, *models, latents, corpus, texts, most_patches)
        self.model.train()
        self.progress.report("samples", **counts)


def main() -> None:
    parser = stage_parser(__doc__.splitlines()[0])
    parser.add_argument("--speech-until", type=float, default=0.0, help="wait for speech until then")
    args = parser.parse_args()
    recipe = recipe_named(args.recipe, warm_start=args.init is not None)
    device = prepare_device(args.gpu, recipe.seed + 2)
    torch.backends.cudnn.benchmark = False  # every call of the encoder has another shape
    progress = Progress(args.work, "lm")
    progress.report("starting", device=str(device), init=args.init and args.init.name)
    LMTrainer(recipe, args.work, device, progress, args.init).run(args.deadline, args.speech_until)


if __name__ == "__main__":
    main()
