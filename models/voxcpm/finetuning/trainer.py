"""The loop of fine-tuning: steps, validation, stopping at the best, and going on after a kill.

Everything random in a step follows from the seed and the step's number, so a run that was killed and goes on
gives what it would have given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from engine.cpu.thread_choice import ThreadChoice
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.finetuning.decoder import DecoderLearner
from models.voxcpm.finetuning.pace import Pace
from models.voxcpm.finetuning.recordings.corpus import Material
from models.voxcpm.finetuning.recordings.dataset import OtherRunError
from models.voxcpm.finetuning.trainee import Trainee
from models.voxcpm.training.lm.batches import BatchMaker, LatentCorpus
from models.voxcpm.training.lm.feeder import tensors_of
from models.voxcpm.training.lm.loss import DeviceBatch, FlowDraws, TrainingLoss
from models.voxcpm.training.recipe import LMRecipe
from models.voxcpm.training.stages.common import cosine, load_checkpoint, save_checkpoint, warmup
from models.voxcpm.training.stages.optimization import guarded_step, set_learning_rate

MOST_NORM = 1.0
VALIDATION_BATCHES = 3
SAVE_EVERY_SECONDS = 30.0
_VALIDATION_SEED = 77


@dataclass(frozen=True)
class Schedule:
    """How long and how fast.

    steps: at most. patience: validations without a better one after which the run ends. batches: what a step
    sees.
    """

    steps: int
    learning_rate: float
    batches: LMRecipe
    validate_every: int = 20
    keep_every: int = 100
    patience: int = 8
    weight_decay: float = 0.01
    seed: int = 0


class Losses(NamedTuple):
    """The losses of one step. mel: of the decoder, where it learns beside."""

    flow: float
    stop: float
    mel: float | None = None


@dataclass
class Standing:
    """Where a run stands; what is kept of it over a kill, besides parameters and optimizer."""

    step: int = 0
    best_loss: float = float("inf")
    best_step: int = 0
    first_loss: float = float("inf")
    since_best: int = 0
    validated_step: int = -1
    spent_seconds: float = 0.0


@dataclass
class _Validation:
    batch: DeviceBatch
    features: Tensor
    target: Tensor
    draws: FlowDraws = field(repr=False)


class Trainer:
    """Moves the parameters of a trainee.

    Args:
        state: file that the run goes on from.
        report: told (state, fields) as the run goes on.
        keep: called with the step when it is time to keep what there is, every `Schedule.keep_every` steps.
        stopping: asked after every step; True ends the run as it stands.
        decoder: learns beside the trainee, a step of its own after each; validations don't judge it.
        threads: of a CPU, chosen again after every step; None leaves them as they are.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        trainee: Trainee,
        material: Material,
        schedule: Schedule,
        state: Path,
        report: Callable[..., None],
        keep: Callable[[int], None] = lambda step: None,
        stopping: Callable[[], bool] = lambda: False,
        threads: ThreadChoice | None = None,
        decoder: DecoderLearner | None = None,
    ) -> None:
        self._device, self._trainee, self._schedule = checkpoint.device, trainee, schedule
        self._latents, self._learnt = material.latents.to(self._device), material.learnt
        self._state, self._report, self._keep, self._stopping = state, report, keep, stopping
        self._threads, self._decoder = threads, decoder
        self._model = checkpoint.model.train()
        self._loss = TrainingLoss(self._model, schedule.batches)
        self._optimizer = torch.optim.AdamW(
            trainee.parameters,
            torch.zeros((), device=self._device),
            betas=(0.9, 0.99),
            weight_decay=schedule.weight_decay,
            fused=True,
        )
        self._validation = self._validation_batches(material.held_out)
        self._best = [parameter.detach().clone() for parameter in trainee.parameters]
        self.standing = Standing()

    def run(self) -> Standing:
        """Train until the steps are made, nothing gets better, or somebody stops it; ends with the best.

        Raises OtherRunError where it cannot go on from what there is.
        """
        self._resume()
        standing, schedule = self.standing, self._schedule
        began = saved = time.monotonic()
        spent_before, pace = standing.spent_seconds, Pace()
        if standing.step == 0:
            self._validate()
        while not self.is_over:
            with self._chosen_threads():
                losses = self._step()
            standing.spent_seconds = spent_before + time.monotonic() - began
            pace.step()
            is_due = time.monotonic() - saved > SAVE_EVERY_SECONDS
            if standing.step % schedule.validate_every == 0:
                self._validate()
            if is_due or standing.step % schedule.validate_every == 0:
                self._tell(losses, pace)
            if standing.step % schedule.keep_every == 0:
                self._keep(standing.step)
            if is_due:
                self._save()
                saved = time.monotonic()
            if self._stopping():
                break
        self._save()
        if standing.validated_step < standing.step:  # not part of what a run that goes on has seen
            self._validate()
        self._restore_best()
        return standing

    @property
    def is_over(self) -> bool:
        """Whether all steps are made, or nothing gets better: a run that somebody stopped may go on."""
        standing, schedule = self.standing, self._schedule
        return standing.step >= schedule.steps or standing.since_best >= schedule.patience

    def _tell(self, losses: Losses, pace: Pace) -> None:
        standing, steps, seconds = self.standing, self._schedule.steps, pace.seconds_a_step
        self._report(
            "training", step=standing.step, steps=steps, flow=losses.flow, stop=losses.stop, mel=losses.mel,
            best_loss=standing.best_loss, seconds_a_step=seconds,
            seconds_left=(steps - standing.step) * seconds,
            cpu_share=pace.cpu_share if self._device.type == "cpu" else None,
        )  # fmt: skip

    def _step(self) -> Losses:
        schedule, standing = self._schedule, self.standing
        torch.manual_seed(schedule.seed * 1_000_003 + standing.step)
        batch, features, target = self._batch(self._learnt, schedule.batches, standing.step)
        rate = (
            schedule.learning_rate * warmup(standing.step, 20) * cosine(standing.step / schedule.steps, 0.1)
        )
        set_learning_rate(self._optimizer, rate)
        with self._autocast():
            flow, stop = self._loss(batch, features, target, self._trainee.adapter())
        (flow + schedule.batches.stop_weight * stop).backward()
        norm = torch.nn.utils.clip_grad_norm_(self._trainee.parameters, MOST_NORM, foreach=True)
        guarded_step(self._optimizer, norm)
        self._optimizer.zero_grad(set_to_none=True)
        share, mel = standing.step / schedule.steps, None
        if self._decoder is not None:
            mel = self._decoder.step(standing.step, share).item()
        standing.step += 1
        return Losses(flow.item(), stop.item(), mel)

    @contextmanager
    def _chosen_threads(self) -> Iterator[None]:
        """Fewer while other programs have the CPUs, since all threads of a step wait for the slowest."""
        choice = self._threads
        if choice is None:
            yield
            return
        torch.set_num_threads(choice.threads)
        began, computed = choice.clock(), time.thread_time()
        yield
        choice.observe(began, choice.clock(), time.thread_time() - computed)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._device.type == "cuda")

    def _batch(
        self, corpus: LatentCorpus, recipe: LMRecipe, number: int
    ) -> tuple[DeviceBatch, Tensor, Tensor]:
        """Batch, features of its audio rows and targets of its flow rows."""
        maker = BatchMaker(corpus, recipe, self._schedule.seed * 1_000_003 + number)
        tensors = tensors_of(maker.make(sentence_share=1.0))
        batch = DeviceBatch(**{name: tensor.to(self._device) for name, tensor in tensors.items()})
        return batch, self._latents[batch.audio_patches], self._latents[batch.flow_patches]

    def _validation_batches(self, held_out: LatentCorpus) -> list[_Validation]:
        """The batches of every validation, noise and flow times included, so that losses compare."""
        recipe = replace(self._schedule.batches, most_feedback_noise=0.0)
        found = []
        for number in range(VALIDATION_BATCHES):
            batch, features, target = self._batch(held_out, recipe, _VALIDATION_SEED + number)
            with torch.random.fork_rng(devices=[self._device] if self._device.type == "cuda" else []):
                torch.manual_seed(_VALIDATION_SEED + number)
                draws = FlowDraws.of(target, recipe.condition_dropout)
            found.append(_Validation(batch, features, target, draws))
        return found

    @torch.no_grad()
    def _validate(self) -> None:
        standing, adapter = self.standing, self._trainee.adapter()
        self._model.eval()
        with self._autocast():
            losses = [
                self._loss(item.batch, item.features, item.target, adapter, item.draws)
                for item in self._validation
            ]
        self._model.train()
        flow, stop = (torch.stack(values).mean().item() for values in zip(*losses, strict=True))
        loss = flow + self._schedule.batches.stop_weight * stop
        standing.validated_step = standing.step
        if standing.step == 0:
            standing.first_loss = loss
        if loss < standing.best_loss:
            standing.best_loss, standing.best_step, standing.since_best = loss, standing.step, 0
            self._best = [parameter.detach().clone() for parameter in self._trainee.parameters]
        else:
            standing.since_best += 1
        self._report(
            "validated", step=standing.step, loss=loss, flow=flow, stop=stop, best=standing.best_step
        )

    def _save(self) -> None:
        save_checkpoint(
            self._state,
            {
                "parameters": [parameter.detach() for parameter in self._trainee.parameters],
                "best": self._best,
                "optimizer": self._optimizer.state_dict(),
                "standing": vars(self.standing),
                "decoder": self._decoder.state_dict() if self._decoder is not None else None,
            },
        )

    def _resume(self) -> None:
        try:
            state = load_checkpoint(self._state, self._device)
            if state is not None:
                self._take_up(state)
        except (OSError, MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # what a broken file raises is nowhere said
            raise OtherRunError(
                f"what {self._state.parents[1].name} has learnt cannot be gone on with "
                f"({type(error).__name__}); choose another name, or remove it"
            ) from error

    def _take_up(self, state: dict[str, Any]) -> None:
        self._put(state["parameters"])
        self._best = state["best"]
        self._optimizer.load_state_dict(state["optimizer"])
        self.standing = Standing(**state["standing"])
        if self._decoder is not None:
            self._decoder.load_state_dict(state["decoder"])
        self._report("resumed", step=self.standing.step)

    def _restore_best(self) -> None:
        self._put(self._best)

    @torch.no_grad()
    def _put(self, values: list[Tensor]) -> None:
        for parameter, value in zip(self._trainee.parameters, values, strict=True):
            parameter.copy_(value)
