"""What several commands take alike, and how a command ends that cannot do what it was told."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console


class Normalize(StrEnum):
    AUTO = "auto"
    ON = "on"
    OFF = "off"


class InputType(StrEnum):
    TEXT = "text"
    SSML = "ssml"


class Device(StrEnum):
    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def complain(message: object) -> None:
    """A message for the user instead of a traceback."""
    _tell("error:", message, "red")


def warn(message: object) -> None:
    """What the user should know, though the command goes on."""
    _tell("warning:", message, "yellow")


def _tell(kind: str, message: object, style: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(kind, message, style=style, markup=False)


def fail(message: object, exit_code: int = 1) -> NoReturn:
    """Ends the command with it; 2 is for wrong settings."""
    complain(message)
    raise typer.Exit(exit_code)


def checked_config(given: Path | None) -> Path | None:
    """The file given, or named by the environment, if any; one that holds no sections ends the command.

    Says which variables of the environment, and which keys of a gateway, are no settings.
    """
    from voxfleet.settings import SettingsError, config_path, unknown_keys, unknown_variables

    file = config_path(given)
    try:
        for name, meant in [*unknown_variables(os.environ), *(unknown_keys(file) if file else ())]:
            warn(f"{name} is no setting, and is ignored" + (f"; {meant} is one" if meant else ""))
    except SettingsError as error:
        fail(error, 2)
    return file


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=checked_config,
        help="YAML file with sections serve, gateway, worker. \\[env: VOXFLEET_CONFIG]",
    ),
]


def checked_url(given: str | None) -> str | None:
    """The address of a gateway, if any is given; what is none ends the command."""
    if given is None:
        return None
    from voxfleet.client.connection import base_urls

    try:
        return base_urls(given)[0]
    except ValueError as error:
        fail(error, 2)


ModelOption = Annotated[
    str | None,
    typer.Option(help="bundled, synthetic, a directory, or a Hugging Face id. \\[default: bundled]"),
]

HostOption = Annotated[str | None, typer.Option(help="Address to listen on. \\[default: 127.0.0.1]")]

PortOption = Annotated[
    int | None, typer.Option(help="Port to listen on; 0 takes a free one. \\[default: 8006]")
]

ServerOption = Annotated[str, typer.Option(callback=checked_url, help="The running server.")]
SERVER_URL = "http://127.0.0.1:8006"

ApiKeyOption = Annotated[
    str | None,
    typer.Option(
        envvar="VOXFLEET_API_KEY",
        show_envvar=False,
        help="For servers that ask for one; kept from other users in \\[env: VOXFLEET_API_KEY].",
    ),
]
