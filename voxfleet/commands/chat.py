"""`voxfleet chat`: a conversation with a text model of a running service, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from voxfleet.commands.options import SERVER_URL, ApiKeyOption, ServerOption, fail


def chat(
    text: Annotated[
        str | None, typer.Argument(help="What to ask; without it, a conversation: a line, an answer.")
    ] = None,
    url: ServerOption = SERVER_URL,
    model: Annotated[
        str | None, typer.Option(help="Which model answers. \\[default: any that writes]")
    ] = None,
    system: Annotated[str | None, typer.Option(help="What the model is told first.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Of an answer, at most.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="0: always the likeliest.")] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same words, same answer.")] = None,
    api_key: ApiKeyOption = None,
) -> None:
    """Ask a text model of a running server. The answer is printed while it is written."""
    from voxfleet.client import Client, SpeechError

    options = {"model": model, "max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    given = {name: value for name, value in options.items() if value is not None}
    messages: list[dict[str, Any]] = [] if system is None else [{"role": "system", "content": system}]
    try:
        with Client(url, api_key=api_key) as client:
            for line in _lines() if text is None else [text]:
                messages.append({"role": "user", "content": _checked(line)})
                stream = client.stream_chat(messages, **given)
                for piece in stream:
                    typer.echo(piece, nl=False)
                typer.echo()
                messages.append({"role": "assistant", "content": stream.answer.text})
    except ValueError as error:
        fail(error, 2)
    except SpeechError as error:
        fail(error)


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
