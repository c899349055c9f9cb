"""The way into a cluster of Ray, or into one of this machine alone."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import ray
from ray.exceptions import RayError

from voxfleet.fleet.file.ray import RaySection
from voxfleet.fleet.place import PlaceError
from voxfleet.fleet.ray import actors

_END_SECONDS = 60.0


def enter(section: RaySection, may_start: bool = True) -> bool:
    """Connect to the cluster, until `leave`. Whether it is one that was started here, and ends then.

    `may_start`: start one where there is none. Raises PlaceError.
    """
    options: dict[str, Any] = {
        "namespace": section.namespace,
        "log_to_driver": False,
        "logging_level": logging.WARNING,
    }
    if section.address != "local":
        try:
            ray.init(address=section.address or "auto", **options)
            return False
        except (ConnectionError, RuntimeError, ValueError, RayError) as error:
            if section.address or not may_start:
                hint = "one that wants a token is told by RAY_AUTH_MODE=token"
                raise PlaceError(f"no cluster of Ray answers: {error} ({hint})") from error
            if not isinstance(error, ConnectionError):
                raise PlaceError(f"the cluster of Ray cannot be used: {error}") from error
    try:
        ray.init(address="local", **options)
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise PlaceError(f"no cluster of Ray can be started here: {error}") from error
    return True


def leave() -> None:
    """Disconnect. Actors that last go on, where the cluster does."""
    ray.shutdown()


@contextlib.contextmanager
def entered(section: RaySection) -> Iterator[None]:
    """Connected to a cluster that is there. Raises PlaceError."""
    enter(section, may_start=False)
    try:
        yield
    finally:
        leave()


def here() -> str:
    """The address of this machine within the cluster."""
    return ray.util.get_node_ip_address()


def addresses() -> set[str]:
    """The addresses of its machines."""
    return {node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}


def end_fleet(section: RaySection) -> bool:
    """End the workers and the controller of a fleet, in the cluster that was entered. Whether there was one.

    Raises PlaceError.
    """
    controller = actors.find(actors.CONTROLLER, section.namespace)
    if controller is None:
        return False
    with translated("the controller does not end the fleet"):
        try:
            ray.get(controller.end.remote(), timeout=_END_SECONDS)
        finally:
            with contextlib.suppress(ValueError):  # somebody else did it
                ray.kill(controller, no_restart=True)
    return True


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    """Errors of Ray become a PlaceError that begins with `what`."""
    try:
        yield
    except (RayError, ValueError) as error:
        first = str(error).strip().splitlines()
        raise PlaceError(f"{what}: {type(error).__name__}: {first[-1] if first else ''}") from error
