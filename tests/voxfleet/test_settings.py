"""Where settings come from, and how wrong ones are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from voxfleet.cli import app
from voxfleet.settings import (
    ServeSettings,
    SettingsError,
    config_path,
    load_settings,
    read_config,
    unknown_keys,
    unknown_variables,
)

ROOT = Path(__file__).resolve().parents[2]


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write(tmp_path, "serve: {port: 1001, host: file, workers: 3}")
    assert load_settings(config).port == 1001
    monkeypatch.setenv("VOXFLEET_PORT", "1002")
    monkeypatch.setenv("VOXFLEET_HOST", "environment")
    assert load_settings(config).port == 1002
    settings = load_settings(config, port=1003, host=None)
    assert (settings.port, settings.host, settings.workers) == (1003, "environment", 3)


def test_defaults_are_those_of_the_contract() -> None:
    settings = ServeSettings()
    assert (settings.port, settings.workers, settings.device) == (8006, "auto", "auto")
    assert settings.first_worker_port == 22400


@pytest.mark.parametrize("value", ["auto", "2", 2])
def test_workers_are_a_number_or_auto(value: str | int) -> None:
    assert load_settings(workers=value).workers == ("auto" if value == "auto" else 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workers", "0"),
        ("workers", "many"),
        ("workers", -1),
        ("port", 70000),
        ("port", -1),
        ("device", "tpu"),
        ("shutdown_seconds", -1),
        ("colour", "red"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=name):
        load_settings(**{name: value})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("serve: [1, 2]", "must hold settings"),
        ("- serve", "expected sections"),
        ("server: {}", "unknown section 'server'"),
        ("serve: {port: 80", "is not YAML"),
        ("gateway: {a: 1}\nserve: {}\ngateway: {b: 2}", "(?s)'gateway' again.*line 3"),
        ("gateway: {title: 2020-13-45}", "is not YAML: month must be in"),
        ("[" * 100_000, "is not YAML"),
        ("serve: {prot: 80}", "prot"),
        ("worker: {8006: x}", "section 'worker' has 8006, which names no setting"),
    ],
)
def test_a_wrong_file_is_refused_with_its_fault(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(write(tmp_path, text))


def test_what_is_merged_in_may_be_named_otherwise(tmp_path: Path) -> None:
    text = "serve: &one {port: 80, host: a}\nworker: {<<: *one, port: 81}\ngateway: {<<: *one, port: 82}"
    assert read_config(write(tmp_path, text))["gateway"] == {"port": 82, "host": "a"}


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read"):
        read_config(tmp_path / "absent.yaml")


def test_an_empty_file_and_an_empty_section_change_nothing(tmp_path: Path) -> None:
    assert load_settings(write(tmp_path, "")) == ServeSettings()
    assert load_settings(write(tmp_path, "serve:\ngateway: {max_queue: 1}")) == ServeSettings()


def test_the_environment_names_a_file_unless_the_command_line_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_path(None) is None
    monkeypatch.setenv("VOXFLEET_CONFIG", "from-environment.yaml")
    assert config_path(None) == Path("from-environment.yaml")
    assert config_path(Path("given.yaml")) == Path("given.yaml")


@pytest.mark.parametrize("profile", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_profile_names_only_settings_that_exist(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gateway.settings import load_settings as load_gateway
    from worker.settings import load_settings as load_worker

    monkeypatch.setenv("VOXFLEET_WORKER_SECRET", "a secret that listening on every address needs")
    load_settings(profile)
    load_worker(profile)
    load_gateway(profile)
    assert list(unknown_keys(profile)) == []


def test_variables_that_are_no_settings_are_named_with_the_one_that_is_meant() -> None:
    environment = {
        "VOXFLEET_MAX_QUEU": "3",
        "VOXFLEET_NONSENSE": "",
        "VOXFLEET_MAX_QUEUE": "3",
        "VOXFLEET_max_jobs": "3",
        "VOXFLEET_WORKER_SLOTS": "3",
        "VOXFLEET_TEXT_MODEL": "m",
        "VOXFLEET_SECRETS_DIR": "/run/secrets",
        "VOXFLEET_API_KEY": "k",
        "VOXFLEET_GATEWAY_SERVICE_HOST": "10.0.0.1",
        "VOXFLEET_GATEWAY_PORT": "tcp://10.0.0.1:80",
        "VOXFLEET_GATEWAY_PORT_80_TCP_ADDR": "10.0.0.1",
        "HOME": "/root",
    }
    found = dict(unknown_variables(environment))
    assert found == {"VOXFLEET_MAX_QUEU": "VOXFLEET_MAX_QUEUE", "VOXFLEET_NONSENSE": None}


def test_a_command_tells_of_a_misspelt_variable_and_goes_on(tmp_path: Path) -> None:
    missing = str(tmp_path / "fleet.yaml")
    ended = CliRunner().invoke(app, ["fleet", "status", missing], env={"VOXFLEET_ADMIN_TOKN": "secret"})
    told, error = ended.stderr.splitlines()
    assert told == "warning: VOXFLEET_ADMIN_TOKN is no setting, and is ignored; VOXFLEET_ADMIN_TOKEN is one"
    assert missing in error and "secret" not in ended.output


def test_a_command_tells_of_a_misspelt_key_of_a_gateway_and_goes_on(tmp_path: Path) -> None:
    config = write(tmp_path, "gateway: {max_queu: 1, max_jobs: 2}\nworker: {slot: 1}")
    ended = CliRunner().invoke(app, ["serve", "--config", str(config)])
    told, error = ended.stderr.splitlines()
    assert told == "warning: gateway.max_queu is no setting, and is ignored; gateway.max_queue is one"
    assert error.startswith("error: worker") and "slot" in error


def test_every_variable_that_documents_and_scripts_name_is_known() -> None:
    files = [*ROOT.glob("docs/*.md"), *ROOT.glob("deploy/**/*.yaml"), *ROOT.glob("*.sh")]
    files += [ROOT / name for name in ("README.md", "Dockerfile", "docker-compose.yml", ".env.example")]
    named = {name for file in files for name in re.findall(r"VOXFLEET_[A-Z_]*[A-Z]", file.read_text())}
    assert "VOXFLEET_COMMIT" in named
    assert dict(unknown_variables(dict.fromkeys(named, ""))) == {}
