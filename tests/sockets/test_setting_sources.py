"""Sources of settings: which are read, what is stronger, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway import settings as gateway_settings
from sockets.setting_sources import SECRETS_DIR_VARIABLE
from worker import settings as worker_settings

SECRET = "from-a-file-0123456789"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Named by the environment; with the secret of the workers in it, as Kubernetes mounts it: a link."""
    kept = tmp_path / "..data"
    kept.mkdir()
    (kept / "voxfleet_worker_secret").write_text(f"{SECRET}\n")
    (tmp_path / "voxfleet_worker_secret").symlink_to("..data/voxfleet_worker_secret")
    monkeypatch.setenv(SECRETS_DIR_VARIABLE, str(tmp_path))
    monkeypatch.delenv("VOXFLEET_WORKER_SECRET", raising=False)
    return tmp_path


def test_gateway_and_worker_read_the_same_file(folder: Path) -> None:
    assert gateway_settings.load_settings().worker_secret.get_secret_value() == SECRET
    assert worker_settings.load_settings().secret.get_secret_value() == SECRET


def test_a_file_may_be_called_in_capital_letters_and_hold_any_setting(folder: Path) -> None:
    (folder / "VOXFLEET_DATABASE_URL").write_text("postgresql://u:p@db/voxfleet")
    (folder / "voxfleet_api_keys").write_text('{"shop": {"key": "0123456789-the-shop"}}')
    settings = gateway_settings.load_settings()
    assert settings.database == "postgresql://u:p@db/voxfleet"
    assert list(settings.api_keys) == ["shop"]


def test_other_files_are_ignored(folder: Path) -> None:
    (folder / "postgres_password").write_text("another one's")
    assert worker_settings.load_settings().secret.get_secret_value() == SECRET


def test_the_environment_beats_a_file_of_secrets_beats_the_configuration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = folder / "fleet.yaml"
    config.write_text(
        "worker: {secret: from-the-configuration-1}\ngateway: {worker_secret: from-the-configuration-1}\n"
    )
    assert worker_settings.load_settings(config).secret.get_secret_value() == SECRET
    assert gateway_settings.load_settings(config).worker_secret.get_secret_value() == SECRET
    monkeypatch.setenv("VOXFLEET_WORKER_SECRET", "from-the-environment-1")
    assert worker_settings.load_settings(config).secret.get_secret_value() == "from-the-environment-1"
    assert gateway_settings.load_settings(config).worker_secret.get_secret_value() == "from-the-environment-1"


def test_a_folder_that_is_not_there_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRETS_DIR_VARIABLE, str(folder / "absent"))
    with pytest.raises(worker_settings.SettingsError, match=SECRETS_DIR_VARIABLE):
        worker_settings.load_settings()
    with pytest.raises(ValueError, match=SECRETS_DIR_VARIABLE):
        gateway_settings.load_settings()


def test_what_was_read_of_one_file_is_not_read_again(tmp_path: Path) -> None:
    config = tmp_path / "fleet.yaml"
    config.write_text("worker: {slots: 9}\ngateway: {max_queue: 9}\n")
    assert (worker_settings.load_settings(config).slots, worker_settings.load_settings().slots) == (9, 4)
    for settings in (gateway_settings.load_settings(config), gateway_settings.load_settings()):
        assert type(settings) is gateway_settings.GatewaySettings
    assert settings.max_queue == gateway_settings.GatewaySettings.model_fields["max_queue"].default


def test_a_wrong_secret_of_a_file_is_refused_unquoted(folder: Path) -> None:
    (folder / "..data" / "voxfleet_worker_secret").write_text("short")
    with pytest.raises(worker_settings.SettingsError, match="secret") as caught:
        worker_settings.load_settings()
    assert "short" not in str(caught.value)
