"""A fine-tuning from a folder of recordings to files that speak.

    result = finetune(Path("recordings"), Path("anna"), FinetuneOptions(), print)

`anna/` then holds `lora_weights.safetensors` and `lora_config.json`, or a whole checkpoint, of the step at
which the held-out recordings were best. Beside them are `step_0000100/` and so on, with samples to hear, and
`work/` with latents, the state to go on from, and `progress.jsonl`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from engine.cpu.cpus import available_cpus
from engine.cpu.thread_choice import ThreadChoice
from engine.errors import OptionsError
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint, resolve_model
from models.voxcpm.finetuning.checks import ADVISED_TOTAL_SECONDS, Finding, summary
from models.voxcpm.finetuning.corpus import Material, Spoken, encode, examine, examine_together
from models.voxcpm.finetuning.dataset import (
    RUN_FILE,
    DatasetError,
    OtherRunError,
    Recording,
    read_dataset,
)
from models.voxcpm.finetuning.decoder import DecoderLearner
from models.voxcpm.finetuning.options import DEFAULT_RANK, FinetuneOptions
from models.voxcpm.finetuning.samples import Samples
from models.voxcpm.finetuning.trainee import AdapterTrainee, FullTrainee, Trainee
from models.voxcpm.finetuning.trainer import Schedule, Standing, Trainer
from models.voxcpm.training.recipe import LMRecipe
from models.whole_files import write_atomically

LONGEST_DOCUMENT, LONGEST_SECONDS = 1000, 30.0
MOST_FILES_TOLD = 50
STATE = "state.pt"
"""What was learnt so far, in the folder of work."""
STRENGTH = 0.5
"""Of what language models and DiT learnt, where the decoder learnt the sound: more words come right."""
Report = Callable[[dict[str, Any]], None]


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
    note = _Journal(work / "progress.jsonl", report)
    with _threads(options.threads or available_cpus()), _refusal_noted(note):
        recordings = read_dataset(data)
        _check_apart(out, data, recordings)
        _claim(out, recordings, options)
        return _train(recordings, out, options, note, normalise, stopping)


def check(
    data: Path, options: FinetuneOptions, report: Report, normalise: Callable[[str], str] = str
) -> bool:
    """Examine recordings as `finetune` does, and no more: whether all of them are used. Raises as it does."""
    with TemporaryDirectory() as folder, _threads(options.threads or available_cpus()):
        work = Path(folder)
        note = _Journal(work / "progress.jsonl", report)
        recordings = read_dataset(data)
        note("loading", base=options.base)
        checkpoint = _base(options)
        recipe = batches_of(checkpoint, options.batch_positions)
        spoken = _examined(recordings, checkpoint, recipe, work, note, normalise)
        _sum_up(spoken, sum(item.speech.seconds for item in spoken), note)
        return len(spoken) == len(recordings)


def _train(
    recordings: list[Recording],
    out: Path,
    options: FinetuneOptions,
    note: _Journal,
    normalise: Callable[[str], str],
    stopping: Callable[[], bool],
) -> Finetuned:
    work = out / "work"
    note("loading", base=options.base)
    checkpoint = _base(options)
    learns = _decoder_learns(checkpoint, options)
    recipe = batches_of(checkpoint, options.batch_positions)
    material = _material(recordings, checkpoint, recipe, work, note, normalise)
    learner = DecoderLearner(checkpoint, material.heard, options.rank, options.seed) if learns else None
    trainee = _trainee(checkpoint, options, learner)
    schedule = Schedule(options.steps, options.rate, recipe, seed=options.seed)
    with closing(Samples(options, material.held_out_texts)) as samples:

        def keep(step: int) -> None:
            if options.method == "lora":
                trainee.write(folder := out / f"step_{step:07}")
                note("sampled", folder=folder.name, clips=samples.speak(folder, folder / "samples"))

        threads = None if options.threads else ThreadChoice(available_cpus())
        state = work / STATE
        trainer = Trainer(
            checkpoint, trainee, material, schedule, state, note, keep, stopping, threads, learner
        )
        standing = trainer.run()
        trainee.write(out)
        clips = samples.speak(out, out / "samples") if trainer.is_over else 0
    before, best = standing.first_loss, standing.best_loss
    over = trainer.is_over
    note("written", step=standing.best_step, loss=best, before=before, clips=clips, over=over)
    return Finetuned(out, standing, material.seconds, over)


def _material(
    recordings: list[Recording],
    checkpoint: Checkpoint,
    recipe: LMRecipe,
    work: Path,
    note: _Journal,
    normalise: Callable[[str], str],
) -> Material:
    """What is learnt from, as latents."""
    spoken = _examined(recordings, checkpoint, recipe, work, note, normalise)
    material = encode(spoken, checkpoint, work / "latents", note.share)
    _sum_up(spoken, material.seconds, note)
    return material


def _examined(
    recordings: list[Recording],
    checkpoint: Checkpoint,
    recipe: LMRecipe,
    work: Path,
    note: _Journal,
    normalise: Callable[[str], str],
) -> list[Spoken]:
    """Those that can be used; what was found is told."""
    longest = recipe.longest_document * checkpoint.config.patch_seconds / 2
    longest = min(longest, LONGEST_SECONDS)
    spoken, findings = examine(
        recordings, checkpoint, longest, recipe.longest_document, normalise, note.share, work
    )
    _tell(findings, note)
    _tell(examine_together(spoken), note)
    return spoken


def _sum_up(spoken: list[Spoken], seconds: float, note: _Journal) -> None:
    note("encoded", recordings=len(spoken), seconds_of_speech=seconds)
    if seconds < ADVISED_TOTAL_SECONDS:
        message = f"{seconds:.0f} s are little; 3 to 10 minutes sound better"
        note("found", kind="little", files=[], message=message)


def _tell(findings: list[Finding], note: _Journal) -> None:
    for told in summary(findings):
        note("found", kind=told.kind, files=list(told.files[:MOST_FILES_TOLD]), message=told.message)


def batches_of(checkpoint: Checkpoint, tokens: int) -> LMRecipe:
    """What a step sees: documents as the base was trained with, as far as its files tell."""
    config, generation = checkpoint.config, checkpoint.generation
    longest = min(config.max_length, LONGEST_DOCUMENT, tokens)
    space = checkpoint.tokenizer.encode("a b")
    prompts = "prompt" in generation.get("features", ()) and len(space) == 3
    ours = "max_reference_seconds" in generation
    return replace(
        LMRecipe(),
        tokens=tokens,
        documents=tokens // 16,
        audio_rows=tokens,
        flow_rows=tokens // 4,
        most_feedback_noise=LMRecipe.most_feedback_noise if ours else 0.0,
        references=config.supports_reference,
        default_reference_share=0.3,
        prompt_share=0.25 if prompts else 0.0,
        space_token=space[1] if prompts else 0,
        longest_document=longest,
    )


def _base(options: FinetuneOptions) -> Checkpoint:
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


def _claim(out: Path, recordings: list[Recording], options: FinetuneOptions) -> None:
    """A run that learnt something goes on only with what it began with."""
    what = asdict(options) | {"device": "", "threads": 0}
    what["recordings"] = [[str(item.audio), item.text, item.speaker] for item in recordings]
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
    audio = hashlib.sha256("".join(map(_sum_of, (item.audio for item in recordings))).encode()).hexdigest()
    file = out / RUN_FILE
    began = _began_with(file)
    if began.get("digest") == digest and began.get("audio", audio) == audio:
        return
    if (file.parent / STATE).exists():
        raise OtherRunError(
            f"{out.name} holds a run with other recordings or options; choose another name, or remove it"
        )
    told = {"digest": digest, "audio": audio, "options": asdict(options)}
    write_atomically(file, (json.dumps(told, indent=2) + "\n").encode())


def _began_with(file: Path) -> dict[str, Any]:
    """What a run began with; nothing where there was none, or the file was cut, so that nobody knows."""
    try:
        return json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return {}


def _sum_of(recording: Path) -> str:
    """Of what a file holds; of one that cannot be read it is told when all are examined."""
    try:
        with recording.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


@contextmanager
def _refusal_noted(note: _Journal) -> Iterator[None]:
    """What cannot be trained on, or gone on with, is told to who reads the journal, too."""
    try:
        yield
    except DatasetError as error:
        note("refused", message=str(error), outdated=isinstance(error, OtherRunError))
        raise


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Journal:
    """Tells the caller, and writes every word but shares of progress down."""

    def __init__(self, file: Path, report: Report) -> None:
        self._file, self._report, self._began = file, report, time.monotonic()

    def __call__(self, state: str, **fields: Any) -> None:
        entry = {"state": state, "seconds": round(time.monotonic() - self._began, 1), **fields}
        with self._file.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        self._report(entry)

    def share(self, state: str, share: float) -> None:
        self._report({"state": state, "share": share})
