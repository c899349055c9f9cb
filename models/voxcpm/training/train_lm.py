"""The language model learns to speak: flow matching and stop prediction on the latents of all speech.

Waits for stage 1 (`vae.pt`) with everything compiled, encodes the speech, then trains until its
deadline. Writes `lm.pt` (averaged weights) regularly and `samples.npz` at the end.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.voxcpm.audio_vae import AudioVAE
from models.voxcpm.model import VoxCPMModel

from .dataset import SpeechStore
from .flat_attention import ROW_ATTENTIONS, flat_attention
from .generation import generate, waveforms
from .latents import build_corpus, encode_speech
from .lm_batches import BatchMaker, LatentCorpus
from .progress import Progress
from .recipe import DEFAULT_VOICE, LMRecipe, Recipe
from .synthesis import VOICES
from .text import HELD_OUT_FILE, read_lines
from .tokenizer_file import build_tokenizer
from .training_common import (
    MovingAverage,
    StageClock,
    compiled,
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
    wait_for,
    warmup,
)

AVERAGE_EVERY = 10
SAMPLE_SENTENCES = 24


def initialize(model: VoxCPMModel) -> None:
    """Small normal weights, zero biases; embeddings large enough to stand beside encoded audio."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            deviation = 0.02 if module.in_features >= 256 else 0.5 * module.in_features**-0.5
            nn.init.normal_(module.weight, std=deviation)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.5)
    nn.init.normal_(model.feat_encoder.special_token, std=0.02)


@dataclass
class DeviceBatch:
    """The tensors of a Batch that the loss reads, on the device."""

    token_ids: Tensor
    positions: Tensor
    audio_mask: Tensor
    boundaries: Tensor
    audio_positions: Tensor
    audio_patches: Tensor
    noise: Tensor
    flow_positions: Tensor
    flow_patches: Tensor
    flow_previous: Tensor
    stop_labels: Tensor


class TrainingLoss(nn.Module):
    """Flow-matching and stop losses of one flat batch."""

    def __init__(self, model: VoxCPMModel, recipe: LMRecipe) -> None:
        super().__init__()
        self.model, self.recipe = model, recipe

    def forward(self, batch: DeviceBatch, features: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """features [A, P, D] of the audio rows, target [F, P, D] of the flow rows -> (flow loss, stop loss)."""
        model, recipe = self.model, self.recipe
        features = features + torch.randn_like(features) * batch.noise[:, None, None]
        encoded = model.encode_patches(features)
        audio = encoded.new_zeros(recipe.tokens + 1, encoded.shape[-1]).index_copy(
            0, batch.audio_positions, encoded
        )
        audio, mask = audio[: recipe.tokens], batch.audio_mask[:, None]
        embeds = torch.where(mask, audio, model.embed_text(batch.token_ids).to(audio.dtype))
        attention = flat_attention(batch.boundaries, recipe.longest_document + 24)
        lm_hidden, residual_hidden = model.run_language_models(
            embeds, audio, mask, batch.positions, attention
        )
        flow = self._flow_loss(batch, features, target, lm_hidden.float(), residual_hidden.float())
        logits = model.stop_logits(lm_hidden).float()
        return flow, F.cross_entropy(logits, batch.stop_labels, ignore_index=-1)

    def _flow_loss(
        self,
        batch: DeviceBatch,
        features: Tensor,
        target: Tensor,
        lm_hidden: Tensor,
        residual_hidden: Tensor,
    ) -> Tensor:
        rows, device = self.recipe.flow_rows, target.device
        mu = self.model.dit_condition(lm_hidden[batch.flow_positions], residual_hidden[batch.flow_positions])
        guided = torch.rand(rows, 1, 1, device=device) >= self.recipe.condition_dropout
        previous = torch.cat([features, torch.zeros_like(features[:1])])[batch.flow_previous]
        flow_time = torch.sigmoid(torch.randn(rows, device=device) - 0.4)
        noise = torch.randn_like(target)
        mixed = torch.lerp(target, noise, flow_time[:, None, None])
        velocity = self.model.dit(mixed, mu * guided.to(mu.dtype), flow_time, previous)
        return F.mse_loss(velocity.float(), noise - target)


class BatchFeeder:
    """Threads that keep a few batches ready on the device's host side."""

    def __init__(
        self, corpus: LatentCorpus, recipe: LMRecipe, device: torch.device, seed: int, threads: int = 3
    ) -> None:
        self.sentence_share = recipe.sentence_share
        self._device, self._ready = device, queue.Queue(8)
        self._stopping = threading.Event()
        self._threads = []
        for index in range(threads):
            maker = BatchMaker(corpus, recipe, seed * 100 + index)
            self._threads.append(threading.Thread(target=self._feed, args=(maker,), daemon=True))
            self._threads[-1].start()

    def _feed(self, maker: BatchMaker) -> None:
        while not self._stopping.is_set():
            batch = maker.make(self.sentence_share)
            tensors = {
                f.name: torch.from_numpy(np.ascontiguousarray(getattr(batch, f.name)))
                for f in fields(DeviceBatch)
            }
            if self._device.type == "cuda":
                tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
            while not self._stopping.is_set():
                try:
                    self._ready.put((tensors, batch.target_patches), timeout=0.5)
                    break
                except queue.Full:
                    continue

    def next(self) -> tuple[DeviceBatch, int]:
        """The next batch on the device, and how many patches it aims at."""
        tensors, patches = self._ready.get()
        return DeviceBatch(**{k: v.to(self._device, non_blocking=True) for k, v in tensors.items()}), patches

    def close(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()


def invented_corpus(recipe: LMRecipe) -> LatentCorpus:
    """Ranges over 4096 patches that exist nowhere, to warm up with."""
    random, count = np.random.default_rng(0), 64
    lengths = random.integers(20, 60, count)
    return LatentCorpus(
        first_patch=random.integers(0, 4000, count),
        num_patches=lengths,
        first_token=np.zeros(count, np.int64),
        num_tokens=lengths,
        voice=np.arange(count) % len(VOICES),
        is_sentence=np.ones(count, bool),
        tokens=random.integers(3, 60, 64),
        voices=VOICES,
    )


class LMTrainer:
    """The training loop of the language model."""

    def __init__(self, recipe: Recipe, work: Path, device: torch.device, progress: Progress) -> None:
        self.recipe, self.work, self.device, self.progress = recipe, work, device, progress
        self.config, self.checkpoint = recipe.config, work / "lm_checkpoint.pt"
        self.store = SpeechStore(work / "speech", device, recipe.hours)
        self.tokenizer = build_tokenizer()
        self.vae = AudioVAE(self.config.audio_vae_config).to(device).eval()
        self.encode = self.vae.encode
        self.patches_seen = 0
        torch.backends.cudnn.benchmark = False  # every call of the encoder has another shape
        self._build()

    def _build(self) -> None:
        torch.manual_seed(self.recipe.seed + 2)
        self.model = VoxCPMModel(self.config)
        initialize(self.model)
        self.model.to(self.device).train()
        matrices = [p for p in self.model.parameters() if p.ndim >= 2]
        vectors = [p for p in self.model.parameters() if p.ndim < 2]
        groups = [
            {"params": matrices, "weight_decay": self.recipe.lm.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(
            groups, self.recipe.lm.learning_rate, betas=(0.9, 0.98), fused=True
        )
        self.average = MovingAverage(self.model, 0.99)
        self.step, self.spent = 0, 0.0

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda")

    def use_row_attention(self, name: str) -> None:
        for part in (self.model.feat_encoder, self.model.dit):
            part.row_attention = ROW_ATTENTIONS[name]

    def warm_up(self) -> None:
        """Compile the step with each row attention on invented data and keep the fastest that works."""
        feeder = BatchFeeder(invented_corpus(self.recipe.lm), self.recipe.lm, self.device, 0)
        latents = torch.randn(4096, self.config.patch_size, self.config.feat_dim, device=self.device).half()
        seconds: dict[str, float] = {}
        for name in ("broadcast", "einsum") if self.device.type == "cuda" else ("sdpa",):
            try:
                seconds[name] = self._time_steps(name, feeder, latents)
                self.progress.report("warming", row_attention=name, seconds_per_step=seconds[name])
            except Exception as error:  # a compiler's failure of any kind leaves the other form
                self.progress.report("warming", row_attention=name, error=repr(error)[:2000])
        feeder.close()
        best = min(seconds, key=seconds.get) if seconds else "sdpa"
        self._build()
        self.use_row_attention(best)
        torch._dynamo.reset()
        self.loss = TrainingLoss(self.model, self.recipe.lm)
        if seconds:
            self.loss = compiled(self.loss, self.device)
        self._compile_encoder()
        feeder = BatchFeeder(invented_corpus(self.recipe.lm), self.recipe.lm, self.device, 0)
        for _ in range(3):
            self.train_step(feeder, latents, 0.0)
        feeder.close()
        self.speak([[5, 6, 7]] * 2, [None, latents[:20]], 3)
        self._reset_training()
        self.progress.report("warm", row_attention=best)

    def _compile_encoder(self) -> None:
        def trial(encode: Callable[[Tensor], Tensor]) -> None:
            with torch.no_grad():
                for rows, patches in ((24, 20), (40, 12), (7, 33)):
                    samples = patches * self.config.patch_size * self.config.audio_vae_config.hop_length
                    encode(torch.randn(rows, 1, samples, device=self.device))

        self.encode = compiled_if_it_works(self.vae.encode, trial, self.device, self.progress, dynamic=True)

    def _time_steps(self, name: str, feeder: BatchFeeder, latents: Tensor) -> float:
        self.use_row_attention(name)
        torch._dynamo.reset()
        self.loss = compiled(TrainingLoss(self.model, self.recipe.lm), self.device)
        for count in (2, 8):
            began = time.time()
            for _ in range(count):
                flow, _ = self.train_step(feeder, latents, 0.0)
            flow.item()
        return (time.time() - began) / 8

    def _reset_training(self) -> None:
        """Start anew in place, so that what is compiled stays valid."""
        torch.manual_seed(self.recipe.seed + 2)
        initialize(self.model)
        for module in self.model.modules():
            if type(module).__name__ == "RMSNorm":
                nn.init.ones_(module.weight)
        self.optimizer.state.clear()
        self.average = MovingAverage(self.model, 0.99)
        self.step = 0

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

    def load_speech(self, deadline: float) -> tuple[Tensor, LatentCorpus]:
        """Wait for the VAE, encode the speech made by then."""
        wait_for(self.work / "vae.pt", deadline, meanwhile=self.store.refresh)
        self.vae.load_state_dict(load_checkpoint(self.work / "vae.pt", self.device))
        self.store.refresh()
        patch_samples = self.config.patch_size * self.config.audio_vae_config.hop_length
        began = time.time()
        latents, ordered = encode_speech(self.encode, self.store, self.config)
        corpus = build_corpus(ordered, patch_samples, self.tokenizer)
        deviation = latents[torch.randperm(len(latents), device=latents.device)[:20000]].float().std().item()
        self.progress.report(
            "encoded",
            utterances=len(ordered),
            hours=self.store.hours,
            deviation=deviation,
            took=time.time() - began,
        )
        return latents, corpus

    def resume(self) -> None:
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
        self.average.swap()
        save_checkpoint(
            self.work / "lm.pt", {k: v.detach().float().cpu() for k, v in self.model.state_dict().items()}
        )
        self.average.swap()

    def run(self, deadline: float) -> None:
        """Warm up, wait for the VAE, train until `deadline`, speak samples."""
        self.warm_up()
        latents, corpus = self.load_speech(deadline)
        self.resume()
        feeder = BatchFeeder(corpus, self.recipe.lm, self.device, self.recipe.seed + self.step)
        clock = StageClock(deadline, self.spent)
        self.patches_seen, first_step, written, recent = 0, self.step, time.time(), []
        every = 100 if self.device.type == "cuda" else 5
        patch_hours = self.config.patch_size * self.config.audio_vae_config.hop_length / 16000 / 3600
        while (done := clock.done) < 1:
            if done > 2 / 3:
                feeder.sentence_share = self.recipe.lm.late_sentence_share
            recent.append(self.train_step(feeder, latents, done))
            if self.step % every == 0:
                flow, stop = (mean_of(values) for values in zip(*recent))
                speed = (self.step - first_step) / clock.elapsed
                self.progress.report(
                    "running",
                    step=self.step,
                    flow=flow,
                    stop=stop,
                    steps_per_second=speed,
                    hours_seen=self.patches_seen * patch_hours,
                    seconds_left=clock.seconds_left,
                )
                recent = []
            if time.time() - written > 200:
                self.write(clock.spent)
                written = time.time()
        self.write(clock.spent)
        feeder.close()
        self.write_samples(latents, corpus)
        self.progress.report("done", step=self.step)

    def speak(self, texts: list[list[int]], references: list[Tensor | None], most_patches: int) -> list:
        """Generate with the current weights, in the product's inference mode."""
        self.model.eval()
        with self.autocast():
            spoken = generate(self.model, texts, references, most_patches)
        self.model.train()
        return spoken

    def write_samples(self, latents: Tensor, corpus: LatentCorpus) -> None:
        """Speak held-out sentences in every voice with the averaged weights: `samples.npz`."""
        texts = read_lines(HELD_OUT_FILE)[:SAMPLE_SENTENCES]
        ids = [e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]
        better = load_checkpoint(self.work / "decoder.pt", self.device)
        if better:
            self.vae.decoder.load_state_dict(better)
        requests, references = [], []
        for index, voice in enumerate(corpus.voices):
            members = np.flatnonzero((corpus.voice == index) & (corpus.num_patches >= 30))
            reference = None
            if voice != DEFAULT_VOICE and len(members):
                first = int(corpus.first_patch[members[0]])
                reference = latents[first : first + 30].float()
            requests += ids
            references += [reference] * len(ids)
        self.average.swap()
        torch.manual_seed(0)
        spoken = self.speak(requests, references, 190 if self.device.type == "cuda" else 6)
        arrays = {}
        for index, (one, audio) in enumerate(zip(spoken, waveforms(self.vae, spoken), strict=True)):
            name = f"{corpus.voices[index // len(ids)]}_{index % len(ids):03d}_{'stopped' if one.stopped else 'cut'}"
            arrays[name] = (audio.clamp(-1, 1) * 32767).numpy().astype(np.int16)
        np.savez_compressed(self.work / "samples.npz", **arrays)
        self.average.swap()
        self.progress.report("samples", utterances=len(spoken), stopped=sum(s.stopped for s in spoken))


def main() -> None:
    args = stage_parser(__doc__.splitlines()[0]).parse_args()
    recipe = recipe_named(args.recipe)
    device = prepare_device(args.gpu, recipe.seed + 2)
    progress = Progress(args.work, "lm")
    progress.report("starting", device=str(device))
    LMTrainer(recipe, args.work, device, progress).run(args.deadline)


if __name__ == "__main__":
    main()
