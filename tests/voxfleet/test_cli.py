"""The command line: the options that scripts and people rely on, and words instead of tracebacks."""

from __future__ import annotations

import os
import socket
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from telemetry.build import build
from tests.voxfleet.conftest import ROOT, voxfleet
from voxfleet import __version__
from voxfleet.cli import app

COMMANDS = typer.main.get_command(app).commands
CONTRACT = {
    "finetune": {"--name", "--base", "--method", "--rank"},
    "serve": {"--config", "--host", "--port", "--workers", "--device", "--model"},
    "gateway": {"--workers", "--port", "--max-queue", "--host", "--config"},
    "drain": {"--wait-seconds", "--port", "--config"},
    "worker": {"--port", "--device", "--model", "--slots", "--step-ms", "--host", "--config"},
    "say": {"-o", "--voice", "--reference", "--prompt-audio", "--prompt-text", "--model", "--seed"},
    "chat": {"--url", "--model", "--system", "--max-tokens", "--temperature", "--seed", "--api-key"},
    "bench": {"--url", "--concurrency", "--requests", "--text", "--json", "--api-key"},
    "doctor": {"--config"},
    "detect": {"--json"},
}
GROUPS = {
    "sessions": {
        "clean": {"--data-dir", "--retention-days", "--max-storage-gb", "--max-owner-gb", "--dry-run"}
    },
    "fleet": {
        "plan": {"--json", "--url", "--config"},
        "up": {"--config", "--host", "--port"},
        "status": {"--json", "--url", "--config"},
        "scale": {"--url", "--config"},
        "down": {"--url", "--config"},
        "render": {"--to"},
    },
}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        voxfleet(*arguments),
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("name", CONTRACT)
def test_a_command_has_the_options_of_its_contract(name: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert CONTRACT[name] <= options


def test_there_is_no_command_beside_the_contract() -> None:
    assert set(COMMANDS) == set(CONTRACT) | set(GROUPS)


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_has_the_commands_of_its_contract(name: str) -> None:
    commands = COMMANDS[name].commands
    assert set(commands) == set(GROUPS[name])
    for command, expected in GROUPS[name].items():
        assert expected <= {option for parameter in commands[command].params for option in parameter.opts}


def test_every_option_and_command_is_explained() -> None:
    for name, command in COMMANDS.items():
        assert command.help, name
        assert all(parameter.help for parameter in command.params), name


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ("serve",),
            ["[env: VOXFLEET_CONFIG]", "[default: 127.0.0.1]", "[default: 8006]", "[default: bundled]"],
        ),
        (("gateway",), ["[default: 1000]"]),
        (("worker",), ["[default: 22400]", "[default: 4]", "[default: 40]"]),
        (("sessions", "clean"), ["[default: data, or as configured]"]),
    ],
)
def test_help_names_the_defaults(command: tuple[str, ...], words: list[str]) -> None:
    result = run(*command, "--help", COLUMNS="200")
    assert result.returncode == 0
    assert [word for word in words if word not in result.stdout] == []


def test_no_option_carries_a_secret() -> None:
    names = {
        option for command in COMMANDS.values() for parameter in command.params for option in parameter.opts
    }
    counts = {"--max-tokens"}
    assert not [name for name in names - counts if "secret" in name or "token" in name]


def test_the_version_is_that_of_the_package() -> None:
    result = run("--version")
    assert result.stdout == f"voxfleet {build()}\n"
    assert build().partition("+")[0] == __version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("serve", "--workers", "0"), "workers"),
        (("serve", "--port", "99999"), "port"),
        (("serve", "--device", "tpu"), "tpu"),
        (("serve", "--config", "absent.yaml"), "absent.yaml"),
        (("gateway",), "no workers"),
        (("gateway", "--workers", "ftp://worker"), "ftp://worker"),
        (("worker", "--slots", "0"), "slots"),
        (("worker", "--device", "tpu"), "device: "),
        (("worker", "--host", "0.0.0.0", "--model", "synthetic"), "VOXFLEET_WORKER_SECRET"),
        (("say", "Hello.", "--prompt-text", "Hi."), "belong together"),
        (("say", "Hello.", "--reference", "absent.wav"), "absent.wav"),
        (("bench", "--url", "nonsense"), "nonsense"),
        (("bench", "--url", "http://127.0.0.1:port"), "127.0.0.1:port"),
        (("doctor", "--fleet", "--url", "http://[::1"), "http://[::1"),
        (("fleet", "status", "absent.yaml", "--url", "http://[::1"), "http://[::1"),
        (("bench", "--json", "absent/bench.json"), "absent/bench.json cannot be written"),
        (("bench", "--json", "tests"), "tests cannot be written: Is a directory"),
        (("sing",), "sing"),
    ],
)
def test_a_wrong_option_ends_with_code_2_and_says_which(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [("gatway: {max_queue: 3}", "unknown section 'gatway'"), ("gateway: {max_queue: 3", "is not YAML")],
)
@pytest.mark.parametrize("command", [("gateway", "--workers", "ftp://worker"), ("worker", "--slots", "0")])
def test_every_command_refuses_a_file_that_is_wrong_as_a_whole_by_its_name(
    command: tuple[str, ...], text: str, message: str, tmp_path: Path
) -> None:
    config = tmp_path / "fleet.yaml"
    config.write_text(text, encoding="utf-8")
    for given, named in (("--config", str(config)), None), ((), str(config)):
        result = CliRunner(env={"VOXFLEET_CONFIG": named}).invoke(app, [*command, *given])
        assert result.exit_code == 2
        assert str(config) in result.output and message in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("say", "Hello.", "-o", "speech.xyz"), ".xyz"),
        (("say", "Hello.", "-o", "absent/speech.wav"), "no directory"),
        (("say", "Hello.", "-o", "/proc/speech.wav"), "/proc/speech.wav cannot be written"),
        (("say", "Hello.", "--model", "./absent"), "no such model directory"),
    ],
)
def test_say_refuses_before_it_loads_a_model(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_key_that_no_header_can_carry_is_refused_unseen() -> None:
    result = run("bench", "--url", "http://127.0.0.1:1", VOXFLEET_API_KEY="canary\n")
    assert result.returncode == 2
    assert "the API key has characters" in result.stderr
    assert "canary" not in result.stdout + result.stderr


def test_bench_without_a_server_says_so_and_fails() -> None:
    result = run("bench", "--url", "http://127.0.0.1:1", "-n", "1")
    assert result.returncode == 1
    assert "cannot reach" in result.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker: {slots: many}", "worker: slots: "),
        ("gateway: {max_queue: -3}", "gateway: max_queue: "),
        ("gateway: {api_keys: {ann: {key: canary}}}", "gateway: api_keys.ann.key: "),
    ],
)
@pytest.mark.parametrize("command", [("serve", "--model", "synthetic", "--port", "0"), ("doctor",)])
def test_a_wrong_setting_of_any_process_is_found_before_the_first_starts(
    command: tuple[str, ...], text: str, message: str, tmp_path: Path
) -> None:
    config = tmp_path / "wrong.yaml"
    config.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, [*command, "--config", str(config)])
    assert result.exit_code == 2
    assert message in result.output and "canary" not in result.output


def test_a_bundle_of_no_service_is_refused(tmp_path: Path) -> None:
    """Of this machine there is none, and none was written."""
    result = CliRunner().invoke(app, ["doctor", "--bundle", str(tmp_path / "support.zip")])
    assert result.exit_code == 2 and "--bundle belongs to --fleet" in result.output


@pytest.mark.parametrize("command", [("gateway", "--workers", "http://127.0.0.1:1"), ("worker",)])
def test_a_taken_port_is_said_in_words(command: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "{}:{}".format(*server.getsockname())
        result = run(*command, "--port", address.rpartition(":")[2])
    assert result.returncode == 1
    assert result.stderr.startswith(f"voxfleet {command[0]}: cannot listen on {address}: ")
    assert "ddress already in use" in result.stderr and result.stderr.count("\n") == 1


def test_a_folder_that_is_no_gateway_s_is_not_cleaned_and_stays_as_it_is(tmp_path: Path) -> None:
    result = run("sessions", "clean", "--data-dir", str(tmp_path), "--retention-days", "7", "--dry-run")
    assert result.returncode == 1
    assert f"{tmp_path} is no data folder of a gateway" in result.stderr
    assert list(tmp_path.iterdir()) == []
