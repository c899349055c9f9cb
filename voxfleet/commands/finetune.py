"""`voxfleet finetune`: recordings of a speaker in, an adapter out."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from voxfleet.commands.interrupts import interruptible
from voxfleet.commands.options import Device, fail

INTERRUPTED = 128 + signal.SIGINT
"""The exit status of a training that was stopped and can go on."""
LEARNS = ("resumed", "validated")
"""Events that come once steps begin."""


class Method(StrEnum):
    LORA = "lora"
    FULL = "full"


def finetune(
    data: Annotated[
        Path,
        typer.Argument(
            exists=True, help="Folder of wav and txt, or with metadata.csv or train.jsonl; or a jsonl file."
        ),
    ],
    name: Annotated[str, typer.Option(help="Folder to write, below --out.")] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Examine the recordings, and train nothing.")
    ] = False,
    base: Annotated[str, typer.Option(help="bundled, a directory, or a Hugging Face id.")] = "bundled",
    method: Annotated[
        Method, typer.Option(help="lora: an adapter of a few MiB; full: a whole checkpoint.")
    ] = Method.LORA,
    rank: Annotated[
        int, typer.Option(help="Rank of the adapter, and of what the decoder learns, 1 to 128.")
    ] = 32,
    alpha: Annotated[
        int | None, typer.Option(help="The adapter's scale is alpha / rank. \\[default: rank]")
    ] = None,
    strength: Annotated[
        float | None,
        typer.Option(
            help="Share that is kept of what language models learnt. \\[default: 0.5 with a decoder, else 1]"
        ),
    ] = None,
    decoder: Annotated[
        bool | None,
        typer.Option(help="Whether the audio VAE's decoder learns, too. \\[default: as the base asks for]"),
    ] = None,
    steps: Annotated[
        int, typer.Option(help="The most steps; it ends earlier when nothing gets better.")
    ] = 600,
    learning_rate: Annotated[
        float | None, typer.Option(help="Learning rate. \\[default: 0.001, full 0.0001]")
    ] = None,
    batch_positions: Annotated[int, typer.Option(help="Positions that a step sees.")] = 1024,
    out: Annotated[Path, typer.Option(help="Folder of results.")] = Path(),
    device: Annotated[Device, typer.Option(help="What to run on.")] = Device.AUTO,
    threads: Annotated[
        int | None, typer.Option(help="CPU threads. \\[default: as many as others leave]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same recordings, same result.")] = 0,
    niceness: Annotated[int, typer.Option(min=0, max=19, help="How far to yield the CPUs to others.")] = 0,
) -> None:
    """Train a voice by recordings of it. Run it again to go on after it was stopped."""
    from engine.errors import EngineError, OptionsError, RequestError
    from gateway.text import normalise
    from gateway.yielding import yield_cpus
    from models.config_fields import ConfigError

    with interruptible():
        from models.voxcpm.finetuning.options import FinetuneOptions
        from models.voxcpm.finetuning.recordings.dataset import DatasetError
        from models.voxcpm.finetuning.run import check as examine
        from models.voxcpm.finetuning.run import finetune as train
    from voxfleet.processes.devices import DeviceError, ensure_present

    if not check and (name == ".." or not name or Path(name).name != name):
        fail("--name is the name of a folder, without / in it", 2)
    if niceness:
        yield_cpus(niceness)

    def in_words(text: str) -> str:
        return normalise(text).text

    try:
        options = FinetuneOptions(
            base,
            method.value,
            rank,
            alpha,
            strength,
            decoder,
            steps,
            learning_rate,
            batch_positions,
            device.value,
            threads,
            seed,
        )
    except ValueError as error:
        fail(error, 2)
    try:
        ensure_present(device.value)
        if check:
            raise typer.Exit(0 if examine(data, options, tell, in_words) else 1)
        with alone_in(out / name) as check_alone, told_until_stopped() as (told, is_stopped):

            def stopping() -> bool:
                check_alone()
                return is_stopped()

            result = train(data, out / name, options, told, in_words, stopping)
    except (
        DeviceError,
        DatasetError,
        ConfigError,
        OptionsError,
        EngineError,
        RequestError,
        OSError,
    ) as error:
        fail(error)
    standing = result.standing
    if not result.over:
        typer.echo(f"stopped at step {standing.step}; the same command goes on from there")
        raise typer.Exit(INTERRUPTED)
    typer.echo(
        f"{result.directory}: validation loss {standing.first_loss:.3f} -> {standing.best_loss:.3f} at step "
        f"{standing.best_step}, after {standing.spent_seconds / 60:.1f} minutes of training on "
        f"{result.seconds_of_speech / 60:.1f} minutes of speech"
    )
    typer.echo(how_to_serve(result.directory, name, method))


@contextmanager
def alone_in(folder: Path) -> Iterator[Callable[[], None]]:
    """No other training writes there; where one does, the command ends. What it gives raises
    FileNotFoundError once the folder was removed: another training may have it by then."""
    from gateway.files.folder_lock import FolderLock

    (work := folder / "work").mkdir(parents=True, exist_ok=True)
    lock = FolderLock(work / "lock")
    if not lock.acquire():
        fail(f"{folder.name} is being trained by another process; wait until that has ended")

    def check() -> None:
        if not lock.is_in_place:
            raise FileNotFoundError(f"{folder.name} was removed while it was trained")

    try:
        yield check
    finally:
        lock.release()


@contextmanager
def told_until_stopped() -> Iterator[tuple[Callable[[dict[str, Any]], None], Callable[[], bool]]]:
    """What tells of an event, and whether a signal has asked for the end; see `stopped_by_signals`.

    Before steps begin a signal ends the process as ever: downloading a base and encoding recordings take
    minutes, and lose nothing.
    """
    caught: list[list[int]] = []
    with ExitStack() as learning:

        def told(event: dict[str, Any]) -> None:
            if event["state"] in LEARNS and not caught:
                caught.append(learning.enter_context(stopped_by_signals()))
            tell(event)

        yield told, lambda: any(caught)


@contextmanager
def stopped_by_signals() -> Iterator[list[int]]:
    """The list gets the first SIGINT or SIGTERM; a second one ends the process as ever."""
    caught: list[int] = []
    before: dict[int, Any] = {}

    def catch(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        typer.echo("ending after this step", err=True)
        for one, handler in before.items():
            signal.signal(one, handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, catch)
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def how_to_serve(directory: Path, name: str, method: Method) -> str:
    """What to do next, as commands."""
    if method is Method.FULL:
        return f"serve it with: {shlex.join(['voxfleet', 'serve', '--model', str(directory)])}"
    fields = (
        f"name={name}",
        f"weights=@{directory / 'lora_weights.safetensors'}",
        f"config=<{directory / 'lora_config.json'}",
        "consent_by=WHOSE-VOICE-IT-IS",
        "consent_statement=I agree that ...",
    )
    upload = ["curl", "localhost:8006/api/adapters", *(word for field in fields for word in ("-F", field))]
    request = json.dumps({"text": "Hello.", "adapter": name}, ensure_ascii=False)
    return (
        f"serve it with: {shlex.join(upload)}\n"
        f"then speak with {request}, on a server that serves the same base"
    )


def tell(event: dict[str, Any]) -> None:
    """A line of what goes on."""
    if "share" not in event and (line := line_of(event)):
        typer.echo(line)


def line_of(event: dict[str, Any]) -> str:
    """What people are told of an event of `models.voxcpm.finetuning.run`; "" for nothing."""
    match event["state"]:
        case "loading":
            return f"loading {event['base']}"
        case "found":
            return f"note: {event['message']}"
        case "encoded":
            return (
                f"{event['recordings']} recordings, {event['seconds_of_speech'] / 60:.1f} minutes of speech"
            )
        case "resumed":
            return f"going on from step {event['step']}"
        case "validated" if event["step"] == 0:
            return f"before training: validation loss {event['loss']:.3f}"
        case "validated":
            return f"step {event['step']}: validation loss {event['loss']:.3f}, best at step {event['best']}"
        case "training":
            minutes = event["seconds_left"] / 60
            return (
                f"step {event['step']} of {event['steps']}: loss {event['flow']:.3f}, "
                f"stop {event['stop']:.3f}, {event['seconds_a_step']:.2f} s a step, "
                f"at most {minutes:.0f} minutes left"
            )
        case "sampled":
            return f"{event['folder']}: kept, {event['clips']} samples to hear"
    return ""
