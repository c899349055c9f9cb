"""Settings: command line over environment over file over defaults, and nothing wrong gets through."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.audio.perth import WatermarkMissingError
from gateway.cli import run
from gateway.settings import GatewaySettings, load_settings


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(
        "worker: {slots: 3}\ngateway:\n  max_queue: 7\n  port: 7001\n  worker_urls: [http://a:1, http://b:2]\n"
    )
    return path


def test_the_file_is_above_the_defaults(config: Path) -> None:
    settings = load_settings(config)
    assert (settings.max_queue, settings.port) == (7, 7001)
    assert settings.worker_urls == ["http://a:1", "http://b:2"]


def test_the_environment_is_above_the_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXFLEET_MAX_QUEUE", "8")
    monkeypatch.setenv("VOXFLEET_WORKER_URLS", "http://c:3,http://d:4")
    settings = load_settings(config)
    assert (settings.max_queue, settings.port) == (8, 7001)
    assert settings.worker_urls == ["http://c:3", "http://d:4"]


def test_the_command_line_is_above_the_environment(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXFLEET_MAX_QUEUE", "8")
    assert load_settings(config, max_queue=9).max_queue == 9
    assert load_settings(config, max_queue=None).max_queue == 8
    assert load_settings(config, max_queue=0).max_queue == 0


def test_the_environment_may_name_the_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXFLEET_CONFIG", str(config))
    assert load_settings().max_queue == 7


def test_an_unknown_key_is_ignored(tmp_path: Path) -> None:
    """`voxfleet` says so, see `unknown_keys`."""
    path = tmp_path / "typo.yaml"
    path.write_text("gateway: {max_que: 7, port: 7001}\n")
    settings = load_settings(path)
    assert (settings.max_queue, settings.port) == (GatewaySettings.model_fields["max_queue"].default, 7001)


@pytest.mark.parametrize(
    "options",
    [
        {"port": 70000},
        {"max_queue": -1},
        {"frame_timeout_seconds": 0},
        {"client_stall_seconds": 1e10},
        {"worker_urls": "ftp://a:1"},
        {"worker_urls": "http://a:1/path"},
        {"worker_urls": "http://a:99999"},
        {"worker_urls": "http://a:x"},
        {"worker_urls": "2"},
        {"worker_urls": "-1"},
        {"worker_urls": "http://a:1,http://a:1/"},
        {"log_level": "loud"},
        {"session_max_storage_gb": 1e300},
        {"min_free_disk_gb": 1e300},
        {"allowed_origins": '["https://example.org"]'},
        {"allowed_origins": "https://example.org/page"},
        {"allowed_origins": "example.org"},
    ],
)
def test_a_wrong_value_is_fatal(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        load_settings(**options)


@pytest.mark.parametrize("url", ["http://ann:hunter2@a:1", "ann:hunter2@a:1", "ftp://ann:hunter2@a/path"])
def test_a_password_in_the_url_of_a_worker_is_refused_and_not_repeated(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(workers=url, host="no host") == 2
    said = capsys.readouterr().err
    assert "voxfleet gateway: worker_urls: " in said and "worker_secret" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("secret", ["a secret of Zürich", "the secret of 北京", "two lines\nare no header"])
@pytest.mark.parametrize("field", ["admin_token", "worker_secret", "api_keys.ann.key"])
def test_a_secret_that_not_every_client_can_send_is_refused_by_name(
    field: str, secret: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Browsers send é as one byte, curl as two, and Python's clients not at all."""
    name, *inner = field.split(".")
    value = {inner[0]: {inner[1]: secret}} if inner else secret
    path = tmp_path / "fleet.yaml"
    path.write_text(json.dumps({"gateway": {"worker_urls": ["http://a:1"], name: value}}))
    assert run(config=path, host="no host") == 2
    said = capsys.readouterr().err
    assert f"voxfleet gateway: {field}: " in said
    assert "ASCII" in said
    assert secret not in said


@pytest.mark.parametrize("name", ["api_keys", "worker_secrets", "voice_aliases", "otlp_headers"])
@pytest.mark.parametrize("value", ["", "hunter2"])
def test_what_is_no_json_is_refused_in_words_and_not_repeated(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"VOXFLEET_{name.upper()}", value)
    assert run(workers="a:1", host="no host") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"voxfleet gateway: {name}: in the environment") and "JSON" in said
    assert "hunter2" not in said


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXFLEET_ADMIN_TOKEN", "canary-1-of-twenty-one")
    monkeypatch.setenv("VOXFLEET_WORKER_SECRET", "canary-2-of-twenty-one")
    settings = load_settings()
    assert settings.admin_token.get_secret_value() == "canary-1-of-twenty-one"
    assert "canary" not in repr(settings)
    assert "canary" not in settings.model_dump_json()


def test_an_empty_secret_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXFLEET_ADMIN_TOKEN", "")
    assert load_settings().admin_token is None


def test_origins_are_as_browsers_send_them() -> None:
    given = "https://Example.org/, http://[::1]:8080, tauri://localhost"
    expected = ["https://example.org", "http://[::1]:8080", "tauri://localhost"]
    assert load_settings(allowed_origins=given).allowed_origins == expected


def test_a_worker_may_be_named_without_a_scheme() -> None:
    assert load_settings(worker_urls="10.0.0.1:22400, http://b:1/").worker_urls == [
        "http://10.0.0.1:22400",
        "http://b:1",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": "ftp://a"}, "worker_urls"),
        ({}, "no workers"),
        ({"workers": "a:1", "config": "/nowhere.yaml"}, "nowhere"),
    ],
)
def test_the_command_says_what_is_wrong_and_exits_with_2(
    options, words, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(**options) == 2
    assert words in capsys.readouterr().err


def test_what_is_wrong_with_no_single_setting_names_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("VOXFLEET_TLS_CERTIFICATE", str(tmp_path))
    assert run(workers="a:1") == 2
    assert capsys.readouterr().err.startswith("voxfleet gateway: tls_certificate")


def test_a_watermark_without_its_package_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise WatermarkMissingError("the watermark needs its extra")

    monkeypatch.setattr("gateway.cli.networks", missing)
    monkeypatch.setenv("VOXFLEET_WATERMARK", "true")
    assert run(workers="http://127.0.0.1:9") == 2
    assert capsys.readouterr().err == "voxfleet gateway: watermark: the watermark needs its extra\n"


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("DATABASE_URL", "postgresql://u:hunter2@127.0.0.1:1/x", "127.0.0.1"),
        ("DATABASE_URL", "postgresql://u:hunter2@127.0.0.1:port/x", "not the URL of a database"),
        ("DATABASE_URL", "hunter2", "not the URL of a database"),
        ("DATABASE_URL", "sqlite:///{folder}/garbage", "not a database"),
        ("DATA_DIR", "{folder}/garbage", "garbage"),
        ("WYOMING_PORT", "{taken}", "address already in use"),
    ],
)
def test_what_keeps_a_gateway_from_starting_is_said_on_one_line(
    variable: str,
    value: str,
    words: str,
    taken_port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "garbage").write_bytes(b"no database " * 1000)
    monkeypatch.setattr("gateway.cli.configure_logging", lambda level: None)
    monkeypatch.setenv("VOXFLEET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv(f"VOXFLEET_{variable}", value.format(folder=tmp_path, taken=taken_port))
    assert run(workers="http://127.0.0.1:9", host="127.0.0.1", port=0) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("voxfleet gateway: ") and words in line and "hunter2" not in line
