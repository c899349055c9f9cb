"""`voxfleet chat`: a conversation with a text model of a running service, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voxfleet.commands.options import SERVER_URL, ApiKeyOption, ServerOption, fail

if TYPE_CHECKING:
    from voxfleet.client import Client
    from voxfleet.commands.answer_speech import AnswerSpeech


def chat(
    text: Annotated[
        str | None, typer.Argument(help="What to ask; without it, a conversation: a line, an answer.")
    ] = None,
    url: ServerOption = SERVER_URL,
    model: Annotated[
        str | None, typer.Option(help="Which model answers. \\[default: any that writes]")
    ] = None,
    system: Annotated[str | None, typer.Option(help="What the model is told first.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens of an answer.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="0: always the likeliest.")] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same words, same answer.")] = None,
    speak: Annotated[
        Path | None,
        typer.Option(
            help="File to speak the answer into: .wav, .flac, .ogg or .mp3; - is standard output, while it is"
            " written."
        ),
    ] = None,
    voice: Annotated[
        str | None, typer.Option(help="Whose voice it is spoken with, by --speak. \\[default: default]")
    ] = None,
    api_key: ApiKeyOption = None,
) -> None:
    """Ask a text model of a running server. The answer is printed while it is written."""
    from voxfleet.client import Client, SpeechError

    options = {"model": model, "max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    given = {name: value for name, value in options.items() if value is not None}
    messages: list[dict[str, Any]] = [] if system is None else [{"role": "system", "content": system}]
    speech = _speech(text, speak, voice)
    try:
        with Client(url, api_key=api_key) as client:
            for line in _lines() if text is None else [text]:
                messages.append({"role": "user", "content": _checked(line)})
                answer = _tell(client, messages, given, speech)
                messages.append({"role": "assistant", "content": answer})
    except ValueError as error:
        fail(error, 2)
    except SpeechError as error:
        fail(error)


def _speech(text: str | None, output: Path | None, voice: str | None) -> AnswerSpeech | None:
    if output is None:
        if voice is not None:
            fail("--voice is for an answer that is spoken: name a file for it with --speak", 2)
        return None
    if text is None:
        fail("--speak is for one answer: it needs the text to ask", 2)
    from voxfleet.commands.answer_speech import AnswerSpeech

    return AnswerSpeech(output, "default" if voice is None else voice)


def _tell(
    client: Client, messages: list[dict[str, Any]], options: dict[str, Any], speech: AnswerSpeech | None
) -> str:
    """The answer, when it is printed, beside its audio if that is on standard output, and spoken."""
    audio = None if speech is None else speech.asked
    beside = speech is not None and speech.is_piped
    stream = client.stream_chat(messages, audio=audio, **options)
    for item in stream:
        if isinstance(item, bytes):
            speech.take(item)
        else:
            typer.echo(item, nl=False, err=beside)
    typer.echo(err=beside)
    if speech is not None:
        speech.finish()
    return stream.answer.text


def _checked(text: str) -> str:
    """Raises ValueError for bytes in another encoding, which stand in it as lone surrogates."""
    try:
        text.encode()
    except UnicodeError as error:
        raise ValueError("the text is not UTF-8") from error
    return text


def _lines() -> Iterator[str]:
    """What is typed, or comes through a pipe, without empty lines."""
    if sys.stdin is None:
        raise ValueError("there is no standard input to read what to ask from")
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(prompt).strip()
        except (EOFError, KeyboardInterrupt):
            return
        if line:
            yield line
