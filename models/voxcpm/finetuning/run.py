"""A fine-tuning from a folder of recordings to files that speak.

    result = finetune(Path("recordings"), Path("anna"), FinetuneOptions(), print)

`anna/` then holds `lora_weights.safetensors` and `lora_config.json`, or a whole checkpoint, of the step at
which the held-out recordings were best. Beside them are `step_0000100/` and so on, with samples to hear, and
`work/` with latents, the state to go on from, and `progress.jsonl`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from engine.cpu.cpus import available_cpus
from engine.cpu.thread_choice import ThreadChoice
from engine.errors import OptionsError
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint, resolve_model
from models.voxcpm.finetuning.decoder import DecoderLearner
from models.voxcpm.finetuning.fingerprint import STATE, claim
from models.voxcpm.finetuning.journal import Journal, Report
from models.voxcpm.finetuning.options import DEFAULT_RANK, FinetuneOptions
from models.voxcpm.finetuning.recordings.dataset import DatasetError, Recording, read_dataset
from models.voxcpm.finetuning.recordings.preparation import Preparation
from models.voxcpm.finetuning.samples import Samples
from models.voxcpm.finetuning.trainee import AdapterTrainee, FullTrainee, Trainee
from models.voxcpm.finetuning.trainer import Schedule, Standing, Trainer

STRENGTH = 0.5
"""Of what language models and DiT learnt, where the decoder learnt the sound: more words come right."""


@dataclass(frozen=True)
class Finetuned:
    """What came out: `directory` speaks, `seconds` are those of all runs together. over: there is no more to
    learn; else somebody stopped it.
    """

    directory: Path
    standing: Standing
    seconds_of_speech: float
    over: bool


def finetune(
    data: Path,
    out: Path,
    options: FinetuneOptions,
    report: Report,
    normalise: Callable[[str], str] = str,
    stopping: Callable[[], bool] = lambda: False,
) -> Finetuned:
    """Train, or go on where an earlier run in `out` was cut.

    normalise: puts figures of transcripts into words. stopping: asked after every step.

    Raises:
        DatasetError: the recordings cannot be trained on; OtherRunError: `out` holds a run with others.
        ConfigError, engine.errors.WeightError: of the base. OptionsError: an option does not go with it.
    """
    work = out / "work"
    work.mkdir(parents=True, exist_ok=True)
    journal = Journal(work, report)
    with _threads(options.threads or available_cpus()), journal.refusals():
        recordings = read_dataset(data)
        _check_apart(out, data, recordings)
        claim(out, data, recordings, options)
        return _train(recordings, out, options, journal, normalise, stopping)


def check(
    data: Path, options: FinetuneOptions, report: Report, normalise: Callable[[str], str] = str
) -> bool:
    """Examine recordings as `finetune` does, and no more: whether all of them are used. Raises as it does."""
    with TemporaryDirectory() as folder, _threads(options.threads or available_cpus()):
        work = Path(folder)
        journal = Journal(work, report)
        recordings = read_dataset(data)
        checkpoint = _base(options, journal)
        preparation = Preparation(checkpoint, options.batch_positions, work, journal, normalise)
        return preparation.check(recordings)


def _train(
    recordings: list[Recording],
    out: Path,
    options: FinetuneOptions,
    journal: Journal,
    normalise: Callable[[str], str],
    stopping: Callable[[], bool],
) -> Finetuned:
    work = out / "work"
    checkpoint = _base(options, journal)
    learns = _decoder_learns(checkpoint, options)
    preparation = Preparation(checkpoint, options.batch_positions, work, journal, normalise)
    material = preparation.material(recordings)
    learner = DecoderLearner(checkpoint, material.heard, options.rank, options.seed) if learns else None
    trainee = _trainee(checkpoint, options, learner)
    schedule = Schedule(options.steps, options.rate, preparation.recipe, seed=options.seed)
    with closing(Samples(options, material.held_out_texts)) as samples:

        def keep(step: int) -> None:
            if options.method == "lora":
                trainee.write(folder := out / f"step_{step:07}")
                journal("sampled", folder=folder.name, clips=samples.speak(folder, folder / "samples"))

        threads = None if options.threads else ThreadChoice(available_cpus())
        state = work / STATE
        trainer = Trainer(
            checkpoint, trainee, material, schedule, state, journal, keep, stopping, threads, learner
        )
        standing = trainer.run()
        trainee.write(out)
        clips = samples.speak(out, out / "samples") if trainer.is_over else 0
    before, best = standing.first_loss, standing.best_loss
    over = trainer.is_over
    journal("written", step=standing.best_step, loss=best, before=before, clips=clips, over=over)
    return Finetuned(out, standing, material.seconds, over)


def _base(options: FinetuneOptions, journal: Journal) -> Checkpoint:
    journal("loading", base=options.base)
    directory = resolve_model(options.base)
    dtype = torch.float32 if options.method == "full" else None
    return load_checkpoint(directory, options.device, dtype, trainable=True)


def _decoder_learns(checkpoint: Checkpoint, options: FinetuneOptions) -> bool:
    learns = options.decoder
    if learns is None:
        learns = checkpoint.generation.get("adapt_decoder") is True
    if options.method == "full" and not learns and options.rank != DEFAULT_RANK:
        raise OptionsError("rank is of adapters and of what a decoder learns; this run has neither")
    return learns


def _trainee(checkpoint: Checkpoint, options: FinetuneOptions, decoder: DecoderLearner | None) -> Trainee:
    if options.method == "full":
        return FullTrainee(checkpoint, decoder)
    strength, alpha = options.strength, options.alpha
    if strength is None:
        strength = 1.0 if decoder is None else STRENGTH
    if alpha is None:
        alpha = options.rank
    return AdapterTrainee(checkpoint, options.rank, alpha, options.seed, strength, decoder)


def _check_apart(out: Path, data: Path, recordings: list[Recording]) -> None:
    """What a run writes among its recordings is not mistaken for them, nor they for what it wrote."""
    folder = out.resolve()
    if folder.is_relative_to(data.resolve()) and any(
        folder in item.audio.resolve().parents for item in recordings
    ):
        raise DatasetError(f"{out.name} holds recordings; choose another name")


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
