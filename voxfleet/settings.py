"""Settings of `voxfleet serve`, and the file that all processes share.

In rising precedence: the section of a YAML file, environment variables, the command line. One file serves the
whole fleet and each process reads the section of its own name:

    serve:    {port: 8006, workers: auto}
    worker:   {slots: 8}
    gateway:  {max_queue: 200}
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from gateway import settings as gateway_settings
from gateway.settings import GatewaySettings
from sockets.setting_words import each_problem
from worker import settings as worker_settings
from worker.settings import WorkerSettings

SECTIONS = frozenset({"serve", "gateway", "worker"})
ENVIRONMENT_PREFIX = "VOXFLEET_"
_OTHER_VARIABLES = {
    f"{ENVIRONMENT_PREFIX}{name}"
    for name in ("API_KEY", "COMMIT", "CONFIG", "EXTRAS", "PYTHON", "SECRETS_DIR", "TORCH_INDEX")
}
"""What is asked of the environment alone."""
_OF_A_SERVICE = re.compile(r"_SERVICE_(HOST|PORT)|_PORT_[0-9]+_(TCP|UDP)")


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it and where it comes from."""


def check_workers(value: int | str) -> int | str:
    """A number of workers, or "auto" for one per device."""
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if value == "auto" or (isinstance(value, int) and value >= 1):
        return value
    raise ValueError("must be a number from 1 on, or auto")


class ServeSettings(BaseSettings):
    """Options of `voxfleet serve`; in the environment `VOXFLEET_PORT` and so on."""

    model_config = SettingsConfigDict(env_prefix=ENVIRONMENT_PREFIX, extra="forbid")

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8006
    """0 takes any free port."""
    workers: Annotated[int | str, AfterValidator(check_workers)] = "auto"
    """How many, or "auto": one per GPU, else one on the CPU."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    model: str | None = None
    """`bundled`, `synthetic`, a directory, or a Hugging Face `owner/name[@revision]`; None leaves it to
    `worker:`.
    """
    text_model: str | None = None
    """A text model, a directory or a Hugging Face `owner/name[@revision]`, that is served beside speech."""
    text_workers: Annotated[int, Field(ge=1, le=4096)] = 1
    """Workers with the text model."""
    text_slots: Annotated[int, Field(ge=1, le=4096)] = 16
    """Answers that each of them writes at the same time."""
    text_tensor_parallel_size: Annotated[int, Field(ge=1, le=64)] = 1
    """GPUs over which each of them shares its model out."""
    first_worker_port: Annotated[int, Field(ge=1, le=65535)] = 22400
    """Workers take the lowest free ports from here on."""
    shutdown_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 5.0
    """How long running requests may go on after Ctrl-C or SIGTERM."""


def load_settings(config: Path | None = None, **options: Any) -> ServeSettings:
    """The settings of `serve` from the file `config`, the environment and `options`.

    An option that is None was not given. Raises SettingsError.
    """
    values = {name: value for name, value in options.items() if value is not None}
    if config is not None:
        for name, value in read_config(config).get("serve", {}).items():
            if f"{ENVIRONMENT_PREFIX}{name}".upper() not in os.environ:
                values.setdefault(name, value)
    try:
        return ServeSettings(**values)
    except ValidationError as error:
        raise SettingsError(f"invalid setting: {problems_of(error)}") from error


def check_children(config: Path | None = None) -> tuple[GatewaySettings, WorkerSettings]:
    """Finds mistakes in what gateway and workers will read when `serve` starts them; what they will.

    Their secret and the address of a worker are decided by `serve`, whatever the file says. Raises
    SettingsError.
    """
    try:
        gateway = gateway_settings.load_settings(config)
        return gateway, worker_settings.load_settings(
            config, host="127.0.0.1", secret="decided by voxfleet serve"
        )
    except worker_settings.SettingsError as error:
        raise SettingsError(f"worker: {error}") from error
    except ValidationError as error:
        raise SettingsError(f"gateway: {problems_of(error)}") from None
    except ValueError as error:
        raise SettingsError(f"gateway: {error}") from error


def problems_of(error: ValidationError) -> str:
    """What is wrong with the settings, on one line."""
    return "; ".join(each_problem(error))


def unknown_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Names that begin as settings do and are none, with the one that may be meant.

    Kubernetes and Docker set some for each service whose name begins so: these are not told.
    """
    known = _OTHER_VARIABLES | {
        f"{model.model_config['env_prefix']}{name}".upper()
        for model in (ServeSettings, GatewaySettings, WorkerSettings)
        for name in model.model_fields
    }
    for name, value in sorted(environment.items()):
        if not name.startswith(ENVIRONMENT_PREFIX) or name.upper() in known:
            continue
        if not _OF_A_SERVICE.search(name) and not value.startswith("tcp://"):
            yield name, _meant(name, known)


def unknown_keys(file: Path) -> Iterator[tuple[str, str | None]]:
    """Unknown keys of a file's section `gateway`, with the one that may be meant. Raises SettingsError."""
    known = GatewaySettings.model_fields.keys()
    for key in sorted(read_config(file).get("gateway", {}).keys() - known):
        meant = _meant(key, known)
        yield f"gateway.{key}", meant and f"gateway.{meant}"


def _meant(name: str, known: Collection[str]) -> str | None:
    return next(iter(get_close_matches(name, known, n=1, cutoff=0.8)), None)


def config_path(given: Path | None) -> Path | None:
    """The file named on the command line, else by `VOXFLEET_CONFIG`, else none."""
    named = os.environ.get("VOXFLEET_CONFIG")
    return given or (Path(named) if named else None)


def read_config(path: Path) -> dict[str, dict[str, Any]]:
    """The sections of a YAML configuration file. Raises SettingsError when it is not there or not of that
    shape.
    """
    document = read_yaml(path)
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected sections {', '.join(sorted(SECTIONS))}")
    for name, section in document.items():
        if name not in SECTIONS:
            raise SettingsError(f"{path}: unknown section {name!r}; there are {', '.join(sorted(SECTIONS))}")
        if not isinstance(section, dict | None):
            raise SettingsError(f"{path}: section {name!r} must hold settings, not {type(section).__name__}")
        if unnamed := [key for key in section or () if not isinstance(key, str)]:
            raise SettingsError(f"{path}: section {name!r} has {unnamed[0]!r}, which names no setting")
    return {name: section or {} for name, section in document.items()}


def read_yaml(path: Path) -> Any:
    """What the file holds, an empty one `{}`. Raises SettingsError."""
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
        try:
            return loader.get_single_data() or {}
        finally:
            loader.dispose()
    except OSError as error:
        raise SettingsError(f"cannot read the configuration {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path} is not YAML: {error}") from error


class _Loader(yaml.SafeLoader):
    """Refuses what is named twice in one place, of which the last alone would count."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        named: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"):
            if key.value in named:
                raise yaml.MarkedYAMLError(problem=f"{key.value!r} again", problem_mark=key.start_mark)
            named.add(key.value)
        return node
