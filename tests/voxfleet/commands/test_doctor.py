"""The doctor's findings, on what this machine really has and with things taken away."""

from __future__ import annotations

import io
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from gateway.settings import GatewaySettings
from voxfleet import model_source
from voxfleet.cli import app
from voxfleet.commands import doctor
from voxfleet.commands.doctor import Verdict
from voxfleet.settings import ServeSettings


@pytest.mark.parametrize(
    "check", [doctor.check_python, doctor.check_packages, doctor.check_torch, doctor.check_encoders]
)
def test_where_the_suite_runs_the_essentials_are_there(check) -> None:
    finding = check()
    assert finding.verdict is Verdict.OK, finding.detail


def test_a_package_that_does_not_load_is_a_failure_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PACKAGES", ("json", "no_such_package"))
    finding = doctor.check_packages()
    assert finding.verdict is Verdict.FAIL
    assert "no_such_package" in finding.detail


def test_a_missing_voice_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_source, "bundled_directory", lambda: tmp_path)
    assert doctor.check_bundled_voice().verdict is Verdict.FAIL


def test_a_gpu_that_the_settings_ask_for_and_nobody_sees_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setenv("PATH", "")
    asked = list(doctor.examine(ServeSettings(port=0, device="cuda"), GatewaySettings(data_dir=tmp_path)))
    device = next(finding for finding in asked if finding.subject == "Device")
    assert device.verdict is Verdict.FAIL
    assert "PyTorch sees no CUDA device here; there is no NVIDIA driver" in device.detail
    assert doctor.check_device("auto").verdict is Verdict.OK


def test_the_pages_are_those_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "index.html").touch()
    settings = GatewaySettings(data_dir=tmp_path, frontend_dir=tmp_path)
    asked = doctor.examine(ServeSettings(port=0), settings)
    pages = next(finding for finding in asked if finding.subject == "Pages")
    assert pages.verdict is Verdict.WARN
    assert pages.detail == f"admin.html missing in {tmp_path}; the API works without"
    assert doctor.check_pages(GatewaySettings().frontend_dir).verdict is Verdict.OK


def test_a_taken_port_is_a_warning() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        finding = doctor.check_port(ServeSettings(port=port))
    assert finding.verdict is Verdict.WARN
    assert str(port) in finding.detail


@pytest.mark.parametrize(("free_bytes", "verdict"), [(10**9, Verdict.OK), (999, Verdict.WARN)])
def test_temporary_files_have_room_for_the_largest_upload(
    free_bytes: int, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: SimpleNamespace(free=free_bytes))
    assert doctor.check_temporary_files(1000).verdict is verdict


def test_a_machine_without_a_folder_for_temporary_files_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in /tmp")

    monkeypatch.setattr(doctor, "gettempdir", none)
    finding = doctor.check_temporary_files(1000)
    assert finding.verdict is Verdict.WARN and "No usable temporary directory" in finding.detail


def test_the_disk_is_that_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found, refused = (doctor.check_disk(tmp_path / name, 1.0) for name in ("not/yet", "file/data"))
    assert found.verdict is not Verdict.FAIL and f"free in {tmp_path}/not/yet" in found.detail
    assert refused.verdict is Verdict.FAIL
    assert refused.detail == f"data_dir {tmp_path}/file/data cannot be written: Not a directory"
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


@pytest.mark.parametrize(
    ("free_bytes", "least_gb", "verdict", "told"),
    [
        (100 << 30, 1, Verdict.OK, "100.0 GiB free here"),
        (1_900_000_000, 1, Verdict.WARN, "1.8 GiB free here: soon nothing more can be kept"),
        (999_000_000, 1, Verdict.WARN, "953 MiB free here: nothing is recorded and no voice taken"),
        (999_000_000, 0, Verdict.WARN, "953 MiB free here: soon nothing more can be kept"),
        (0, 0, Verdict.WARN, "0 MiB free here: nothing is recorded and no voice taken"),
    ],
)
def test_a_disk_that_is_almost_full_is_told_of(
    free_bytes: int, least_gb: float, verdict: Verdict, told: str
) -> None:
    found = doctor.judge_disk(free_bytes, least_gb, "here")
    assert (found.verdict, found.detail) == (verdict, told)


def test_a_model_that_the_settings_name_is_looked_for(tmp_path: Path) -> None:
    assert doctor.check_models(["bundled", "openbmb/VoxCPM2"]).verdict is Verdict.OK
    settings = ServeSettings(port=0, text_model=str(tmp_path / "none"))
    findings = doctor.examine(settings, GatewaySettings(data_dir=tmp_path))
    found = next(finding for finding in findings if finding.subject == "Models")
    assert found.verdict is Verdict.FAIL and found.detail == f"no such model directory: {tmp_path}/none"


def test_the_database_is_the_one_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    url = "postgresql://user:hunter2secret@127.0.0.1:1/voxfleet"
    settings = GatewaySettings(data_dir=tmp_path, database_url=url)
    asked = doctor.examine(ServeSettings(port=0), settings)
    database = next(finding for finding in asked if finding.subject == "Database")
    assert database.verdict is Verdict.FAIL
    assert "database_url: cannot use postgresql+asyncpg://user:***@127.0.0.1:1/voxfleet" in database.detail
    own = doctor.check_database(GatewaySettings(data_dir=tmp_path / "new").database, tmp_path / "new")
    assert own.verdict is Verdict.OK and "the first gateway makes it" in own.detail


def test_missing_test_tools_are_a_warning_that_names_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    finding = doctor.check_test_tools()
    assert finding.verdict is Verdict.WARN
    assert "apt-get install flite chromium nodejs" in finding.detail


def test_an_aligner_is_found_by_its_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.timing.whisper.find_spec", lambda name: object())
    missing = doctor.check_aligner(str(tmp_path))
    assert missing.verdict is Verdict.FAIL and str(tmp_path) in missing.detail
    (tmp_path / "model.bin").touch()
    found = doctor.check_aligner(str(tmp_path))
    assert found.verdict is Verdict.OK and str(tmp_path) in found.detail
    assert doctor.check_aligner("off").verdict is Verdict.OK


def test_without_the_extra_word_times_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.timing.whisper.find_spec", lambda name: None)
    finding = doctor.check_aligner("auto")
    assert finding.verdict is Verdict.OK and "VOXFLEET_EXTRAS=align" in finding.detail
    assert doctor.check_aligner("some/model").verdict is Verdict.FAIL


@pytest.mark.parametrize(("verdict", "exit_code"), [(Verdict.OK, 0), (Verdict.WARN, 0), (Verdict.FAIL, 1)])
def test_only_a_failure_fails_the_command(
    verdict: Verdict, exit_code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = [doctor.Finding("A thing", verdict, "is as it is [sic]")]
    monkeypatch.setattr(doctor, "examine", lambda *_: iter(findings))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == exit_code
    assert "A thing" in result.output
    assert "[sic]" in result.output


def test_every_check_reports_exactly_once(tmp_path: Path) -> None:
    findings = list(doctor.examine(ServeSettings(port=0), GatewaySettings(data_dir=tmp_path)))
    assert str(tmp_path) in next(finding.detail for finding in findings if finding.subject == "Disk")
    assert len({finding.subject for finding in findings}) == len(findings) == 15
    console = Console(record=True, width=200)
    console.print(doctor.render(findings))
    text = console.export_text()
    assert all(finding.subject in text for finding in findings)


def test_a_long_path_is_shown_whole() -> None:
    path = "/" + "a-long-name-of-a-folder/" * 8
    printed = io.StringIO()
    Console(file=printed, width=80).print(
        doctor.render([doctor.Finding("Disk", Verdict.OK, f"free in {path}")])
    )
    assert path in "".join(printed.getvalue().split())
