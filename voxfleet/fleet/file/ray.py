"""The section `ray:` of a fleet file: which cluster, and what each worker asks it for.

place: ray
ray:
  address: 10.0.0.4:6379
  workers: {gpu: {gpus: 1, cpus: 4, memory_gib: 16}}
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

from pydantic import Field

from voxfleet.fleet.file.share import ShareSection, StrictSection
from voxfleet.settings import SettingsError


class RaySection(StrictSection):
    """Everything has a default that works on a fresh cluster."""

    address: Annotated[str, Field(pattern=r"^(local|[A-Za-z0-9.-]+:[0-9]{1,5})?\z")] = ""
    """Host and port of the cluster's head. Empty: the cluster that RAY_ADDRESS names, or to which this
    machine belongs; where there is none, one of this machine alone is started. "local": that, in any case.
    """
    namespace: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\z")] = "voxfleet"
    """The namespace of the actors. Two fleets in one cluster have two."""
    workers: dict[str, ShareSection] = Field(default_factory=dict)


def need_ray() -> None:
    """Raises SettingsError where Ray is not installed."""
    if find_spec("ray") is None:
        command = "VOXFLEET_EXTRAS=ray ./start_all.sh --install-only"
        raise SettingsError(f"place: ray needs the extra `ray`: {command}")
