"""The `voxfleet` command. Each subcommand loads what it needs when it runs, so that `--help` answers at once.

voxfleet serve                      gateway and workers on this machine, supervised
voxfleet gateway --workers URL,URL  one gateway for workers that run elsewhere
voxfleet worker --port 22400        one worker
voxfleet drain                      have that worker finish what it has, before it is stopped
voxfleet say "Hello." -o hello.wav  a clip without any server
voxfleet chat "Hello."              the answer of a text model of a running server
voxfleet finetune DIR --name ANNA   a voice learnt from recordings
voxfleet detect FILE...              whether a file is marked as generated speech
voxfleet bench | doctor             figures of a running server | what this machine lacks
voxfleet fleet up fleet.yaml        a gateway and as many workers as are needed
voxfleet fleet plan fleet.yaml      check a fleet file, and say what it asks for now
voxfleet sessions clean             remove recorded sessions that are old or too much
"""

from __future__ import annotations

import asyncio
import errno
import json
import sys
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from voxfleet.commands.chat import chat
from voxfleet.commands.finetune import finetune
from voxfleet.commands.options import (
    SERVER_URL,
    ApiKeyOption,
    ConfigOption,
    ServerOption,
    checked_url,
    complain,
    fail,
)
from voxfleet.commands.say_command import say
from voxfleet.fleet.commands import fleet_app, look_at_fleet
from voxfleet.serving.commands import drain, gateway, serve, worker

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
app = typer.Typer(
    name="voxfleet",
    help="Streaming text-to-speech: a gateway and a fleet of workers that send speech while it is generated.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def print_version(wanted: bool) -> None:
    if wanted:
        from telemetry.build import build

        typer.echo(f"voxfleet {build()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


app.command()(serve)
app.command()(gateway)
app.command()(worker)
app.command()(drain)
app.command()(say)
app.command()(chat)
app.command()(finetune)


@app.command()
def detect(
    files: Annotated[list[Path], typer.Argument(help="Audio files.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON per file.")] = False,
) -> None:
    """Say whether files are marked as generated speech, by a note or the watermark.

    Exit status 0: all are; 1: at least one is not; 2: at least one cannot be read.
    """
    from voxfleet.commands.detect import DetectError
    from voxfleet.commands.detect import detect as look_at

    status = 0
    for file in files:
        try:
            finding = look_at(file)
        except DetectError as error:
            typer.echo(error, err=True)
            status = 2
            continue
        typer.echo(json.dumps({**asdict(finding), "generated": finding.generated}) if as_json else finding)
        status = status or int(not finding.generated)
    raise typer.Exit(status)


@app.command()
def bench(
    url: ServerOption = SERVER_URL,
    concurrency: Annotated[int, typer.Option("--concurrency", "-c", min=1, help="Listeners at a time.")] = 1,
    requests: Annotated[int, typer.Option("--requests", "-n", min=1, help="Requests in all.")] = 20,
    text: Annotated[list[str] | None, typer.Option(help="What to say, in turn; may be given again.")] = None,
    voice: Annotated[str, typer.Option(help="Name of a voice.")] = "default",
    preroll: Annotated[
        float, typer.Option(min=0, help="Seconds that a player waits after the first chunk.")
    ] = 0.1,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures here too.")] = None,
    api_key: ApiKeyOption = None,
) -> None:
    """Measure a running server: first audio, real-time factor, underruns. Prints JSON.

    Fails if any request failed.
    """
    from voxfleet.client.connection import key_headers
    from voxfleet.commands.bench import TEXTS, run_bench

    try:
        key_headers(api_key)
        if json_file is not None:
            json_file.open("a").close()
    except ValueError as error:
        fail(error, 2)
    except OSError as error:
        fail(f"--json {json_file} cannot be written: {error.strerror}", 2)
    result = asyncio.run(run_bench(url, concurrency, requests, text or TEXTS, voice, preroll, api_key))
    figures = json.dumps(result.summary(), indent=2)
    typer.echo(figures)
    if json_file is not None:
        try:
            json_file.write_text(figures + "\n", encoding="utf-8")
        except OSError as error:
            fail(f"--json {json_file} cannot be written: {error.strerror}")
    if result.errors:
        raise typer.Exit(1)


@app.command()
def doctor(
    config: ConfigOption = None,
    fleet: Annotated[
        bool, typer.Option("--fleet", help="Look at a running service, not at this machine.")
    ] = False,
    url: Annotated[str | None, typer.Option(callback=checked_url, help="Its gateway, for --fleet.")] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(help="With --fleet: write a zip file for support, without secrets and texts."),
    ] = None,
) -> None:
    """Say what this machine has and what it lacks; fails when it cannot speak."""
    from voxfleet.commands.doctor import Verdict, examine, render
    from voxfleet.settings import SettingsError, check_children, load_settings

    if bundle is not None and not fleet:
        fail("--bundle belongs to --fleet", 2)
    console = Console(highlight=False)
    try:
        settings = load_settings(config)
        gateway_settings, worker_settings = check_children(config)
    except SettingsError as error:
        fail(error, 2)
    with console.status("looking around"):
        if fleet:
            findings = look_at_fleet(url, config, bundle)
        else:
            findings = list(examine(settings, gateway_settings, worker_settings.model))
    console.print(render(findings))
    if any(finding.verdict is Verdict.FAIL for finding in findings):
        raise typer.Exit(1)


sessions_app = typer.Typer(help="Clean up recorded sessions.", no_args_is_help=True)
app.add_typer(sessions_app, name="sessions")
app.add_typer(fleet_app, name="fleet")


@sessions_app.command("clean")
def clean_sessions(
    data_dir: Annotated[
        Path | None, typer.Option(help="The gateway's data folder. \\[default: data, or as configured]")
    ] = None,
    retention_days: Annotated[
        float | None, typer.Option(min=0, help="Days after which sessions are removed; 0: never.")
    ] = None,
    max_storage_gb: Annotated[
        float | None,
        typer.Option(min=0, help="GB beyond which the least recently used are removed; 0: any number."),
    ] = None,
    max_owner_gb: Annotated[
        float | None,
        typer.Option(min=0, help="The same limit for each owner, which is looked at first; 0: any number."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    config: ConfigOption = None,
) -> None:
    """Remove recorded sessions that are too old or too much; never one that is being recorded."""
    from voxfleet.commands.sessions import CleanError
    from voxfleet.commands.sessions import clean_sessions as clean

    try:
        removed = clean(data_dir, retention_days, max_storage_gb, config, dry_run, max_owner_gb)
    except CleanError as error:
        fail(error)
    for session in removed:
        typer.echo(f"{session.session_id}  {session.reason}  {session.size_bytes / 1e6:.1f} MB")
    size = sum(session.size_bytes for session in removed) / 1e6
    typer.echo(f"{'would remove' if dry_run else 'removed'} {len(removed)} sessions, {size:.1f} MB")


def main() -> None:
    """The `voxfleet` command. What it prints is written at once, and may find no room."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # not every name of a file is text
    try:
        app()
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_ROOM:
            raise
        complain(f"standard output cannot be written: {error.strerror}")
        sys.exit(1)
