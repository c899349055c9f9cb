"""`voxfleet fleet ...`. Each command loads what it needs when it runs."""

from __future__ import annotations

import json
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from voxfleet.options import fail


class Target(StrEnum):
    KUBERNETES = "kubernetes"


fleet_app = typer.Typer(help="How many workers run.", no_args_is_help=True)


@fleet_app.callback()
def group() -> None:
    """How many workers run."""


@fleet_app.command()
def plan(
    file: Annotated[Path, typer.Argument(help="The fleet file.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON per kind of workers.")
    ] = False,
) -> None:
    """Check a fleet file, and say what it asks for now. Starts nothing."""
    from voxfleet.fleet.file import read_fleet_file
    from voxfleet.fleet.plan import plan as plan_at
    from voxfleet.settings import SettingsError

    try:
        rules = read_fleet_file(file).rules()
    except SettingsError as error:
        fail(error, 2)
    for kind in plan_at(rules, time.time()):
        if as_json:
            typer.echo(json.dumps(kind.describe()))
        else:
            typer.echo(
                f"{kind.kind}  {kind.model}: {kind.starts} now, at most {kind.most},"
                f" which hold {kind.streams} streams and cost {kind.most_cost_per_hour:g} an hour"
            )


@fleet_app.command()
def render(
    file: Annotated[Path, typer.Argument(help="The fleet file.")],
    folder: Annotated[Path, typer.Argument(help="Where to write; all but its secrets is replaced.")],
    to: Annotated[Target, typer.Option(help="What the files are for.")],
) -> None:
    """Write what another scheduler runs a fleet by: manifests for `kubectl apply -k`."""
    from voxfleet.fleet.file import read_fleet_file
    from voxfleet.fleet.kubernetes import RenderError
    from voxfleet.fleet.kubernetes import render as render_manifests
    from voxfleet.settings import SettingsError

    try:
        missing = render_manifests(read_fleet_file(file), folder)
    except SettingsError as error:
        fail(error, 2)
    except RenderError as error:
        fail(error)
    for path in missing:
        typer.echo(f"first write {path}", err=True)
    typer.echo(f"kubectl apply -k {folder}")
