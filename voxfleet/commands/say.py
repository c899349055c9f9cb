"""`voxfleet say`: one clip into a file, in this process, without any server."""

from __future__ import annotations

import errno
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile

from engine.errors import EngineError, RequestError
from gateway.audio.formats import encode_clip, note_sound_file
from gateway.audio.perth import WatermarkMissingError, networks
from gateway.audio.samples import as_s16, from_s16
from gateway.audio.watermark import Watermark
from gateway.text.language import is_language_code
from gateway.text.paragraphs import LONGEST_PARAGRAPH_PAUSE
from gateway.text.ssml import PARAGRAPH_SECONDS, Script, SsmlError, parse_ssml
from models.config_fields import ConfigError
from models.sentences import has_words
from voxfleet.commands.interrupts import interruptible
from voxfleet.commands.speaking import Speaking
from voxfleet.model_source import ModelMissingError, check_model
from voxfleet.processes.devices import DeviceError, ensure_present

if TYPE_CHECKING:
    from models.voxcpm import VoxCPM


class SayError(RuntimeError):
    """The clip cannot be made or written; the message is for the user."""


FAILURES = (
    *(SayError, ModelMissingError, DeviceError, RequestError, EngineError, ConfigError, OSError),
    WatermarkMissingError,
)
"""What can go wrong through no fault of this program; each message is for the user."""
_NOTED = frozenset({"WAV", "WAVEX", "RF64", "FLAC", "OGG", "AIFF", "CAF"})
"""Formats of libsndfile that have a place for words of ours; into MP3 it writes its encoder's."""
STANDARD_OUTPUT = Path("-")
"""Instead of a file: a wav file to whatever reads it there."""


@dataclass(frozen=True)
class Spoken:
    """What came out. Seconds of waiting count from the call of generate, loading excluded."""

    audio_seconds: float
    wall_seconds: float
    first_audio_seconds: float
    sample_rate: int
    seed: int
    finish_reason: str
    note: str | None = None
    """What the user should know of this model."""

    @property
    def rtf(self) -> float:
        """Wall seconds per audio second."""
        return self.wall_seconds / self.audio_seconds


def say(text: str, output: Path, **options: Any) -> Spoken:
    """Speaks `text` into `output`; `options` as of `say_each`. Raises one of FAILURES."""
    ((_, spoken),) = say_each([(text, output)], **options)
    return spoken


def say_each(
    clips: Sequence[tuple[str, Path]],
    *,
    model: str = "bundled",
    device: str = "auto",
    on_progress: Callable[[str], None] = lambda message: None,
    watermark: bool = False,
    adapter: Path | None = None,
    input_type: str = "text",
    **options: Any,
) -> Iterator[tuple[Path, Spoken]]:
    """Speaks each text into its file, whose suffix names the format (wav, flac, ogg, mp3).

    `options` go to `VoxCPM.generate`: voice, instructions, reference_audio, prompt_audio, prompt_text,
    denoise, seed, cfg_value, inference_timesteps, temperature; except `normalize` (auto, on, off): whether
    figures are put into words; `language`: ISO 639 code of the text, by whose rules they are; and
    `paragraph_pause`: seconds of silence where blank lines part a text.
    adapter: folder of one. input_type: "text", or "ssml" for documents. Raises one of FAILURES.
    """
    _check_pause(options.get("paragraph_pause", PARAGRAPH_SECONDS))
    _check_language(options.get("language"))
    for _, output in clips:
        check_output(output)
    sources = [(_script(text) if input_type == "ssml" else text, output) for text, output in clips]
    if watermark:
        networks()
    check_model(model)
    ensure_present(device)
    with interruptible():
        from models.voxcpm import VoxCPM

    def on_loading(stage: str, progress: float) -> None:
        on_progress(f"loading {model}: {stage} {progress:.0%}")

    with VoxCPM.from_pretrained(model, device=device, max_num_seqs=1, progress=on_loading) as speaker:
        if adapter is not None:
            _take_up(speaker, adapter)
        for source, output in sources:
            yield output, speak(speaker, source, output, on_progress, dict(options), watermark)


def _check_pause(seconds: float) -> None:
    if not 0 <= seconds <= LONGEST_PARAGRAPH_PAUSE:
        raise SayError(f"a pause between paragraphs lasts from 0 to {LONGEST_PARAGRAPH_PAUSE:g} s")


def _check_language(code: str | None) -> None:
    if code is not None and not is_language_code(code):
        raise SayError(f"{code!r} is no ISO 639 code of a language, as en, de or zh-CN are")


def _script(document: str) -> Script:
    try:
        return parse_ssml(document)
    except SsmlError as error:
        raise SayError(f"the text is no SSML: {error}") from error


def _take_up(speaker: VoxCPM, adapter: Path) -> None:
    from models.lora.adapter import AdapterError

    try:
        speaker.load_lora(adapter)
    except AdapterError as error:
        raise SayError(str(error)) from error


def each_line(text: str, output: Path) -> list[tuple[str, Path]]:
    """A clip for each line that says something, in files numbered from 1. Raises SayError."""
    if output == STANDARD_OUTPUT:
        raise SayError("standard output has room for one clip; the clips of --lines are files")
    texts = [line.strip() for line in text.splitlines() if has_words(line)]
    if not texts:
        raise SayError("the text has no lines with words")
    digits = max(3, len(str(len(texts))))
    return [
        (line, output.with_stem(f"{output.stem}-{number:0{digits}}")) for number, line in enumerate(texts, 1)
    ]


def speak(
    speaker: VoxCPM,
    source: str | Script,
    output: Path,
    on_progress: Callable[[str], None],
    options: dict[str, Any],
    watermark: bool = False,
) -> Spoken:
    """One clip of a loaded model into a file."""
    note = _note(speaker.info.features, options)
    told = options.pop("normalize", "auto"), options.pop("language", None)
    paragraph_pause = options.pop("paragraph_pause", PARAGRAPH_SECONDS)
    speaking = Speaking(speaker, options, on_progress)
    speaking.say(source, *told, paragraph_pause)
    wall_seconds = time.perf_counter() - speaking.started
    if not speaking.first_audio_seconds:
        raise SayError(f"the model ended without any audio ({speaking.finish_reason})")
    audio = np.concatenate(speaking.pieces)
    if watermark:
        audio = marked(audio, speaker.sample_rate)
    write(output, audio, speaker.sample_rate)
    return Spoken(
        speaking.audio_seconds,
        wall_seconds,
        speaking.first_audio_seconds,
        speaker.sample_rate,
        speaking.seed,
        speaking.finish_reason,
        note,
    )


def _note(features: tuple[str, ...], options: dict[str, Any]) -> str | None:
    if options.get("prompt_audio") is not None and "prompt" not in features:
        return "this model was not trained to continue recordings; --reference takes a voice from one"
    return None


def read_text(argument: str) -> str:
    """The text to say; "-" reads it from standard input. Raises SayError."""
    try:
        if argument == "-":
            if sys.stdin is None:
                raise SayError("there is no standard input to read the text from")
            return sys.stdin.buffer.read().decode("utf-8-sig")
        argument.encode()  # other bytes come from the command line as lone surrogates
    except UnicodeError as error:
        raise SayError("the text is not UTF-8") from error
    return argument


def check_output(output: Path) -> None:
    """Finds out before the model is loaded whether the clip can be written. Raises SayError."""
    if output == STANDARD_OUTPUT:
        if sys.stdout is None or sys.stdout.isatty():
            raise SayError(
                "standard output shows no audio: send it to a program or a file, as in -o - | aplay"
            )
        return
    format = output.suffix.lstrip(".").upper()
    if format not in soundfile.available_formats() or soundfile.default_subtype(format) is None:
        raise SayError(
            f"{output}: no audio format is called {output.suffix or 'nothing'}; use .wav, .flac, .ogg or .mp3"
        )
    if not output.parent.is_dir():
        raise SayError(f"{output}: there is no directory {output.parent}")
    try:
        if output.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not _takes_all_at_once(output):
            (part := _part_of(output)).touch()
            part.unlink()
    except OSError as error:
        raise SayError(f"{output} cannot be written: {error.strerror}") from error


def marked(audio: np.ndarray, sample_rate: int) -> np.ndarray:
    """float32 samples [n] with the watermark added."""
    return from_s16(Watermark(sample_rate).process(as_s16(audio), last=True))


def write(output: Path, audio: np.ndarray, sample_rate: int) -> None:
    """Writes mono float32 samples in [-1, 1], all of them or no file; it says that a model made it.

    Raises SayError.
    """
    to_a_program = output == STANDARD_OUTPUT
    called = "standard output" if to_a_program else output
    try:
        content = _encoded(audio, sample_rate, "WAV" if to_a_program else output.suffix.lstrip(".").upper())
        if to_a_program:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        else:
            _put(output, content)
    except OSError as error:
        raise SayError(f"{called} cannot be written: {error.strerror}") from error
    except soundfile.SoundFileError as error:
        raise SayError(f"{called} cannot be written: {error}") from error


def _encoded(audio: np.ndarray, sample_rate: int, format: str) -> bytes:
    if format == "MP3":
        return encode_clip(as_s16(audio), sample_rate, "mp3", noted=True)
    encoded = io.BytesIO()
    with soundfile.SoundFile(encoded, "w", sample_rate, 1, format=format) as file:
        if format in _NOTED:
            note_sound_file(file)
        file.write(audio)
    return encoded.getvalue()


def _put(output: Path, content: bytes) -> None:
    """Whatever was there is replaced once all of it is written. Raises OSError."""
    if _takes_all_at_once(output):
        output.write_bytes(content)
        return
    part = _part_of(output)
    try:
        part.write_bytes(content)
        part.replace(output.resolve())
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _takes_all_at_once(output: Path) -> bool:
    """Whether it is a device or a pipe."""
    return output.exists() and not output.is_file()


def _part_of(output: Path) -> Path:
    """Beside the file that it becomes."""
    output = output.resolve()
    return output.with_name(f".{output.name}.{os.getpid()}.part")
