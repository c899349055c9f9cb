"""`voxfleet fleet ...`. Each command loads what it needs when it runs."""

from __future__ import annotations

import json
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voxfleet.commands.options import ConfigOption, HostOption, PortOption, checked_url, fail
from voxfleet.loading import loading

if TYPE_CHECKING:
    from voxfleet.commands.doctor import Finding
    from voxfleet.fleet.autoscaling.plan import KindPlan
    from voxfleet.fleet.desk import Counter
    from voxfleet.fleet.file import FleetFile


class Target(StrEnum):
    KUBERNETES = "kubernetes"


fleet_app = typer.Typer(no_args_is_help=True)
FileArgument = Annotated[Path, typer.Argument(help="The fleet file.")]
UrlOption = Annotated[
    str | None,
    typer.Option(
        callback=checked_url,
        help="The gateway of the fleet. \\[default: this machine, with the port of serve]",
    ),
]
_END_SECONDS = 120.0
_POLL_SECONDS = 0.2


@fleet_app.callback()
def group() -> None:
    """Run as many workers as are needed, here or in a cluster of Ray."""


@fleet_app.command()
def plan(
    file: FileArgument,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON per kind of workers.")
    ] = False,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Check a fleet file, and say what it asks for now, beside what runs. Starts nothing."""
    from voxfleet.fleet.autoscaling.plan import plan as plan_at

    content = _read(file)
    rules = content.rules()
    running = _running(url, config)
    priced = any("cost_per_hour" in kind.model_fields_set for kind in content.workers.values())
    for kind in plan_at(rules, time.time()):
        reported = running.pop(kind.kind, None)
        runs = None if reported is None else reported["serving"] + reported["loading"]
        version = content.workers[kind.kind].digest
        replaced = 0 if reported is None or reported["version"] == version else runs
        if as_json:
            typer.echo(json.dumps({**kind.describe(), "runs": runs, "replaced": replaced}))
            continue
        typer.echo(_in_words(kind, runs, replaced, priced))
    for kind, reported in running.items():
        runs = reported["serving"] + reported["loading"]
        typer.echo(f"{kind}: {runs} run, and the file does not name it", err=as_json)
    training = content.training
    if training.base is not None:
        typer.echo(
            f"voices are trained of {training.base}, on {training.device}, {training.at_once} at a time in "
            "each gateway",
            err=as_json,
        )


def _in_words(kind: KindPlan, runs: int | None, replaced: int, priced: bool) -> str:
    """What is asked for of one kind of workers; `runs`: None where no service was asked. `priced`: the file
    says what workers cost.
    """
    now = f"{kind.starts} at least now"
    if runs is not None:
        now = f"{runs} run, {kind.starts} at least now"
    if replaced:
        now += f", {replaced} to be replaced by what the file says"
    cost = f" and cost {kind.most_cost_per_hour:g} an hour" if priced else ""
    return f"{kind.kind}  {kind.model}: {now}, at most {kind.most}, which hold {kind.streams} streams{cost}"


@fleet_app.command()
def up(
    file: FileArgument,
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
) -> None:
    """Run a gateway here, and as many workers as are needed, until Ctrl-C or `voxfleet fleet down`.

    With `place: ray` workers run in a cluster of Ray; a fleet that runs there gets the file as it is now.
    """
    with loading():
        from voxfleet.fleet.place import PlaceError
        from voxfleet.fleet.up import up as up_until_stopped
        from voxfleet.model_source import ModelMissingError
        from voxfleet.processes.devices import DeviceError
        from voxfleet.processes.ports import PortError
        from voxfleet.settings import SettingsError, load_settings

    try:
        exit_code = up_until_stopped(_read(file), load_settings(config, host=host, port=port), config)
    except SettingsError as error:
        fail(error, 2)
    except (PortError, DeviceError, ModelMissingError, PlaceError) as error:
        fail(error)
    raise typer.Exit(exit_code)


@fleet_app.command()
def status(
    file: FileArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the gateway answers.")] = False,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Say how many workers of each kind run, and what was decided last."""
    from voxfleet.fleet.desk import DeskError

    kinds = _read(file).workers
    try:
        answer = _counter(url, config).fleet()
    except DeskError as error:
        fail(error)
    if as_json:
        typer.echo(json.dumps(answer))
        return
    for kind in answer["fleet"]["kinds"]:
        by = "by need" if kind["scaled"] is None else f"{kind['scaled']} by order"
        former = f"; {kind['former']} run what the file said before" if kind["former"] else ""
        waiting = f" ({kind['unplaced']} wait for a machine)" if kind["unplaced"] else ""
        unknown = "" if kind["kind"] in kinds else "; the file does not name it"
        typer.echo(
            f"{kind['kind']}  {kind['model']}: {kind['serving']} serve, {kind['loading']} load{waiting},"
            f" {kind['draining']} drain; {by}, from {kind['least']} to {kind['most']}{former}{unknown}"
        )
    if answer["last"] is not None:
        typer.echo(f"{answer['last']['kind']}: {answer['last']['message']}")


@fleet_app.command()
def scale(
    file: FileArgument,
    kind: Annotated[str, typer.Argument(help="A kind of workers of the file.")],
    count: Annotated[str, typer.Argument(help="How many are to run, or auto: as many as are needed.")],
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Have so many workers of a kind, whatever is asked for; `auto` ends that."""
    from gateway.operations.fleet_messages import FleetOrders
    from voxfleet.fleet.desk import DeskError

    section = _read(file).workers.get(kind)
    if section is None:
        fail(f"{file}: there is no {kind!r} under workers", 2)
    if count != "auto" and not (count.isdecimal() and int(count) <= section.most):
        fail(f"COUNT is a number up to {section.most}, the most of {kind}, or auto", 2)
    try:
        counter = _counter(url, config)
        counter.fleet()
        counter.order(FleetOrders(workers={kind: None if count == "auto" else int(count)}))
    except DeskError as error:
        fail(error)


@fleet_app.command()
def down(file: FileArgument, url: UrlOption = None, config: ConfigOption = None) -> None:
    """End the fleet that runs: requests get the time to finish that `voxfleet serve` gives them."""
    from gateway.operations.fleet_messages import FleetOrders
    from voxfleet.fleet.desk import DeskError

    content = _read(file)
    try:
        counter = _counter(url, config)
        if content.place == "ray" and not counter.is_there():
            _end_what_is_left(content)
            return
        counter.fleet()
        counter.order(FleetOrders(down=True))
    except DeskError as error:
        fail(error)
    deadline = time.monotonic() + _END_SECONDS
    while counter.is_there():
        if time.monotonic() > deadline:
            fail(f"the gateway still answers after {_END_SECONDS:g} s")
        time.sleep(_POLL_SECONDS)


@fleet_app.command()
def render(
    file: FileArgument,
    folder: Annotated[Path, typer.Argument(help="Where to write; all but its secrets is replaced.")],
    to: Annotated[Target, typer.Option(help="What the files are for.")],
) -> None:
    """Write what another scheduler runs a fleet by: manifests for `kubectl apply -k`."""
    from voxfleet.fleet.kubernetes import RenderError
    from voxfleet.fleet.kubernetes import render as render_manifests

    try:
        missing = render_manifests(_read(file), folder)
    except RenderError as error:
        fail(error)
    for path in missing:
        typer.echo(f"first write {path}", err=True)
    typer.echo(f"kubectl apply -k {folder}")


def look_at_fleet(url: str | None, config: Path | None, bundle: Path | None) -> list[Finding]:
    """For `voxfleet doctor --fleet`: the findings, which are in `bundle` too where that is named."""
    from voxfleet.fleet.checkup import judge, look
    from voxfleet.fleet.desk import DeskError
    from voxfleet.fleet.support import write_bundle
    from voxfleet.settings import check_children

    try:
        counter = _counter(url, config)
        seen = look(counter.url, counter.token)
        findings = list(judge(seen))
        if bundle is not None:
            write_bundle(bundle, seen, findings, check_children(config)[0])
    except (DeskError, OSError) as error:
        fail(error)
    return findings


def _end_what_is_left(content: FleetFile) -> None:
    """End the controller and workers of a fleet in a cluster of Ray whose gateway is gone."""
    from voxfleet.fleet.file.ray import need_ray
    from voxfleet.fleet.place import PlaceError
    from voxfleet.settings import SettingsError

    try:
        need_ray()
        from voxfleet.fleet.ray import cluster

        with cluster.entered(content.ray):
            found = cluster.end_fleet(content.ray)
    except SettingsError as error:
        fail(error, 2)
    except PlaceError as error:
        fail(error)
    if not found:
        fail(f"no fleet runs in the namespace {content.ray.namespace} of the cluster")


def _read(file: Path) -> FleetFile:
    from voxfleet.fleet.file import read_fleet_file
    from voxfleet.settings import SettingsError

    try:
        return read_fleet_file(file)
    except SettingsError as error:
        fail(error, 2)


def _counter(url: str | None, config: Path | None) -> Counter:
    """Raises DeskError."""
    from voxfleet.fleet.desk import Counter, admin_token
    from voxfleet.processes.worker_service import url_of
    from voxfleet.settings import SettingsError, check_children, load_settings

    try:
        gateway, _ = check_children(config)
        settings = load_settings(config)
    except SettingsError as error:
        fail(error, 2)
    here = url_of(settings.host, settings.port, secure=gateway.tls_certificate is not None)
    return Counter(url or here, admin_token(gateway))


def _running(url: str | None, config: Path | None) -> dict[str, Any]:
    """What is reported of each kind of the fleet that runs; empty where none does."""
    from voxfleet.fleet.desk import DeskError

    try:
        kinds = _counter(url, config).fleet()["fleet"]["kinds"]
    except DeskError as error:
        if url is not None:
            fail(error)
        return {}
    return {kind["kind"]: kind for kind in kinds}
