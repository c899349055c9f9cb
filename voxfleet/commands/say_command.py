"""`voxfleet say` on the command line: its options, and what it prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from voxfleet.commands.options import Device, InputType, Normalize, fail

if TYPE_CHECKING:
    from voxfleet.commands.say import Spoken


def say(
    text: Annotated[str, typer.Argument(help="What to say; - reads it from standard input.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write: .wav, .flac, .ogg or .mp3; - is standard output."
        ),
    ] = Path("speech.wav"),
    input_type: Annotated[
        InputType, typer.Option(help="What the text is; ssml: a document with pauses and the like.")
    ] = InputType.TEXT,
    paragraph_pause: Annotated[
        float | None,
        typer.Option(help="Seconds of silence where blank lines part the text; 0: none. \\[default: 0.7]"),
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="A clip for each line of the text: speech-001.wav and so on.")
    ] = False,
    language: Annotated[
        str | None,
        typer.Option(help="ISO 639 code of the text, as in de; short texts may not tell it by themselves."),
    ] = None,
    voice: Annotated[str, typer.Option(help="Name of a voice.")] = "default",
    instructions: Annotated[
        str | None, typer.Option(help="How to speak, in words, for models that follow that.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(exists=True, help="Recording whose voice to imitate.")
    ] = None,
    prompt_audio: Annotated[Path | None, typer.Option(exists=True, help="Recording to continue.")] = None,
    prompt_text: Annotated[str | None, typer.Option(help="What the recording to continue says.")] = None,
    denoise: Annotated[
        bool,
        typer.Option(
            "--denoise",
            help="Take out the noise behind speakers; needs the extra `denoise`.",
        ),
    ] = False,
    adapter: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="Folder of an adapter to speak with.")
    ] = None,
    model: Annotated[str, typer.Option(help="bundled, a directory, or a Hugging Face id.")] = "bundled",
    device: Annotated[Device, typer.Option(help="What to run on.")] = Device.AUTO,
    seed: Annotated[int | None, typer.Option(help="Same seed, same words, same audio.")] = None,
    cfg_value: Annotated[
        float | None, typer.Option(help="How closely text and voice are followed. \\[default: the model's]")
    ] = None,
    inference_timesteps: Annotated[
        int | None, typer.Option(help="Steps for each patch. \\[default: the model's]")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="Scale of the noise that speech is drawn from. \\[default: the model's]"),
    ] = None,
    watermark: Annotated[
        bool, typer.Option("--watermark", help="Mark the speech inaudibly; needs the extra `watermark`.")
    ] = False,
    normalize: Annotated[
        Normalize, typer.Option(help="Put figures into words; auto: where the model needs it.")
    ] = Normalize.AUTO,
) -> None:
    """Speak into a file, without any server."""
    if (prompt_audio is None) != (prompt_text is None):
        fail("--prompt-audio and --prompt-text belong together", 2)
    options = {
        "language": language,
        "voice": voice,
        "instructions": instructions,
        "reference_audio": reference,
        "prompt_audio": prompt_audio,
        "prompt_text": prompt_text,
        "denoise": denoise,
        "adapter": adapter,
        "model": model,
        "device": device.value,
        "seed": seed,
        "cfg_value": cfg_value,
        "inference_timesteps": inference_timesteps,
        "temperature": temperature,
        "watermark": watermark,
        "normalize": normalize.value,
        "input_type": input_type.value,
        "paragraph_pause": paragraph_pause,
    }
    _say(text, output, lines, {name: value for name, value in options.items() if value is not None})


def _say(text: str, output: Path, lines: bool, options: dict[str, Any]) -> None:
    from voxfleet.commands.say import FAILURES, each_line, read_text, say_each

    console = Console(stderr=True, highlight=False)
    try:
        clips = each_line(read_text(text), output) if lines else [(read_text(text), output)]
        with console.status("loading") as status:
            for file, spoken in say_each(clips, on_progress=status.update, **options):
                _tell(console, file, spoken)
    except FAILURES as error:
        fail(error)


def _tell(console: Console, output: Path, spoken: Spoken) -> None:
    from voxfleet.commands.say import STANDARD_OUTPUT

    typer.echo(
        f"{output}: {spoken.audio_seconds:.2f} s of audio at {spoken.sample_rate} Hz"
        f" in {spoken.wall_seconds:.2f} s, first audio after {spoken.first_audio_seconds * 1000:.0f} ms,"
        f" real-time factor {spoken.rtf:.2f}, seed {spoken.seed}",
        err=output == STANDARD_OUTPUT,
    )
    if spoken.finish_reason != "stop":
        console.print(f"the model did not end by itself ({spoken.finish_reason})", style="yellow")
    if spoken.note is not None:
        console.print(spoken.note, style="yellow")
