"""The container files, held against the code they start; a wrong option shows without a Docker engine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from dockerfile_parse import DockerfileParser

from gateway.app import create_app
from gateway.settings import GatewaySettings
from telemetry.build import VARIABLE
from tests.e2e.processes import eventually, worker
from voxfleet.cli import app
from voxfleet.settings import ServeSettings
from worker.settings import WorkerSettings

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = typer.main.get_command(app).commands
VARIABLES = {
    f"{model.model_config['env_prefix']}{name}".upper()
    for model in (ServeSettings, GatewaySettings, WorkerSettings)
    for name in model.model_fields
}
INTERPOLATION = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<value>[^}]*))?\}")


def interpolate(value: Any, environment: dict[str, str]) -> Any:
    """What docker compose makes of `${NAME}`, `${NAME:-default}` and `${NAME:?message}`."""
    if isinstance(value, dict):
        return {key: interpolate(item, environment) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolate(item, environment) for item in value]
    if not isinstance(value, str):
        return value

    def replace(match: re.Match[str]) -> str:
        given = environment.get(match["name"])
        if not given and match["kind"] == "?":
            raise ValueError(match["value"])
        return given or match["value"] or ""

    return INTERPOLATION.sub(replace, value)


def compose(*names: str, **environment: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name in names:
        for service, content in yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["services"].items():
            merged.setdefault(service, {}).update(content)
    return interpolate(merged, environment)


def instructions() -> list[dict[str, Any]]:
    return DockerfileParser(path=str(ROOT / "Dockerfile")).structure


def last(instruction: str) -> str:
    return [item["value"] for item in instructions() if item["instruction"] == instruction][-1]


def check_command(arguments: list[str]) -> dict[str, Any]:
    """The parsed options of a `voxfleet` command line; click refuses what does not exist."""
    command = COMMANDS[arguments[0]]
    return command.make_context(arguments[0], list(arguments[1:])).params


def health_url(probe: list[str]) -> tuple[int, str]:
    (match,) = re.findall(r"http://127\.0\.0\.1:(\d+)(/\S*?)'", probe[-1])
    return int(match[0]), match[1]


@pytest.fixture
def services() -> dict[str, Any]:
    return compose("docker-compose.yml", VOXFLEET_WORKER_SECRET="a secret")


def test_the_image_starts_a_command_that_exists_in_exec_form() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    (program,) = json.loads(last("ENTRYPOINT"))
    assert program in scripts
    arguments = json.loads(last("CMD"))
    assert arguments[0] == "serve"
    assert check_command(arguments)["host"] == "0.0.0.0"


def test_the_image_does_not_run_as_root() -> None:
    order = [item["instruction"] for item in instructions()]
    assert last("USER") not in ("root", "0")
    assert "RUN" not in order[order.index("USER") :]


def test_the_image_probes_a_route_and_port_that_the_server_has() -> None:
    probe = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    port, path = health_url(probe)
    assert port == ServeSettings().port == int(last("EXPOSE"))
    assert path in create_app(GatewaySettings()).openapi()["paths"]


def test_the_image_copies_what_exists_and_every_package() -> None:
    copied = [item["value"].split() for item in instructions() if item["instruction"] == "COPY"]
    sources = {source for words in copied if not words[0].startswith("--from") for source in words[:-1]}
    assert all((ROOT / source).exists() for source in sources), sources
    assert {"engine", "models", "worker", "gateway", "voxfleet", "frontend", "configs"} <= sources


def test_the_build_context_holds_no_secret_and_no_virtual_environment() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".env", ".venv", ".git", "data"} <= set(ignored)


def test_the_image_is_built_for_cpu_or_cuda_by_one_argument() -> None:
    arguments = [item["value"] for item in instructions() if item["instruction"] == "ARG"]
    assert arguments.count("DEVICE=cpu") == 2
    services = compose("docker-compose.yml", VOXFLEET_WORKER_SECRET="s", DEVICE="cuda")
    assert services["worker-0"]["build"]["args"]["DEVICE"] == "cuda"


def test_compose_builds_with_the_index_of_packages_and_the_commit_that_it_is_given() -> None:
    arguments = {item["value"].partition("=")[0] for item in instructions() if item["instruction"] == "ARG"}
    given = {"DEVICE": "cpu", "TORCH_INDEX": "https://example.org/cpu", "COMMIT": "0123456"}
    services = compose("docker-compose.yml", VOXFLEET_WORKER_SECRET="s", **given)
    for service in services.values():
        assert service["build"]["args"] == given
        assert set(given) <= arguments


def test_the_image_knows_the_commit_that_it_is_built_of() -> None:
    named = [item["value"] for item in instructions() if item["instruction"] == "ENV"]
    assert f"{VARIABLE}=$COMMIT" in named
    order = [item["value"] for item in instructions()]
    assert order.index("COMMIT=") > max(order.index(value) for value in order if "pip install" in value)


def test_every_service_has_a_command_a_health_check_and_time_to_end(services: dict[str, Any]) -> None:
    for name, service in services.items():
        options = check_command(service["command"])
        port, path = health_url(service["healthcheck"]["test"])
        assert port == options["port"], name
        assert path == "/health", name
        assert service["stop_grace_period"].endswith("s"), name
        assert service["init"] is True, name


@pytest.mark.parametrize(
    ("model", "state", "healthy"), [("synthetic", "IDLE", True), ("absent", "ERROR", False)]
)
def test_a_worker_that_could_not_load_its_model_is_not_healthy(
    services: dict[str, Any], model: str, state: str, healthy: bool
) -> None:
    kind, _, *probe = services["worker-0"]["healthcheck"]["test"]
    assert kind == "CMD"
    with worker(model=model) as running:
        eventually(lambda: running.get_json("/health")["state"] == state)
        probe[-1] = probe[-1].replace("http://127.0.0.1:22400", running.url)
        ended = subprocess.run([sys.executable, *probe], check=False, stdin=subprocess.DEVNULL)
    assert (ended.returncode == 0) is healthy


def test_services_get_longer_to_end_than_they_take(services: dict[str, Any]) -> None:
    gateway = services["gateway"]
    taken = float(gateway["environment"]["VOXFLEET_SHUTDOWN_SECONDS"])
    assert float(gateway["stop_grace_period"].rstrip("s")) > taken
    for name in ("worker-0", "worker-1"):
        assert float(services[name]["stop_grace_period"].rstrip("s")) > WorkerSettings().shutdown_seconds


def test_the_log_of_a_service_is_bounded(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert {"max-size", "max-file"} <= service["logging"]["options"].keys(), name


def test_every_environment_variable_is_a_setting(services: dict[str, Any]) -> None:
    used = {variable for service in services.values() for variable in service["environment"]}
    assert used
    assert used <= VARIABLES


def test_the_gateway_knows_every_worker_by_service_and_port(services: dict[str, Any]) -> None:
    urls = check_command(services["gateway"]["command"])["workers"].split(",")
    workers = {
        name: check_command(service["command"]) for name, service in services.items() if name != "gateway"
    }
    assert sorted(urls) == sorted(f"http://{name}:{options['port']}" for name, options in workers.items())


def test_gateway_and_workers_share_the_secret(services: dict[str, Any]) -> None:
    assert {service["environment"]["VOXFLEET_WORKER_SECRET"] for service in services.values()} == {"a secret"}


def test_without_a_secret_nothing_starts() -> None:
    with pytest.raises(ValueError, match=r"\.env"):
        compose("docker-compose.yml")


def test_workers_are_not_published(services: dict[str, Any]) -> None:
    assert [name for name, service in services.items() if service.get("ports")] == ["gateway"]


def test_each_worker_gets_a_gpu_of_its_own() -> None:
    merged = compose(
        "docker-compose.yml", "docker-compose.gpu.yml", VOXFLEET_WORKER_SECRET="s", DEVICE="cuda"
    )
    devices = [
        service["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"]
        for name, service in merged.items()
        if name != "gateway"
    ]
    assert devices == [["0"], ["1"]]
    assert all("command" in service for service in merged.values())


def test_the_port_can_be_open_to_this_machine_alone() -> None:
    """As the documents have it where the network of containers is trusted."""
    services = compose("docker-compose.yml", VOXFLEET_WORKER_SECRET="s", PORT="127.0.0.1:8006")
    published = [port for service in services.values() for port in service.get("ports", ())]
    assert published == ["127.0.0.1:8006:8006"]


def test_the_example_environment_names_everything_that_compose_asks_for() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    offered = {line.partition("=")[0] for line in example.splitlines() if line and not line.startswith("#")}
    assert {match["name"] for match in INTERPOLATION.finditer(text)} == offered
