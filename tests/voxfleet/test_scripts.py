"""`start_all.sh` and its siblings, in a copy of the checkout's root and with nothing to download."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.voxfleet.conftest import ROOT

SYSTEM_PATH = "/usr/bin:/bin"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    copy_root(tmp_path)
    return tmp_path


def copy_root(to: Path) -> None:
    for name in ("start_all.sh", "run_tests.sh", "pyproject.toml"):
        shutil.copy(ROOT / name, to / name)
    shutil.copytree(ROOT / "locks", to / "locks")
    shutil.copytree(ROOT / "scripts", to / "scripts")


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def fake_venv(checkout: Path, extras: str = "") -> None:
    """A virtual environment that looks installed: its pip would fail, its `voxfleet` prints its arguments."""
    program(checkout / ".venv/bin/python", f'[ "$1" = -m ] && exit 9\nexec {sys.executable} "$@"')
    program(checkout / ".venv/bin/voxfleet", f'# by {checkout}/.venv/bin/python\necho "voxfleet $*"')
    fingerprint = "cat pyproject.toml locks/*.txt | cksum | tr -d ' '"
    printed = subprocess.run(
        ["bash", "-c", fingerprint], cwd=checkout, capture_output=True, text=True, check=True
    )
    stamp = checkout / ".venv/.voxfleet-installed"
    stamp.write_text(f"{printed.stdout.strip()}\n{extras}\n", encoding="utf-8")


def run(checkout: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(checkout / "start_all.sh"), *arguments],
        cwd="/",
        env={"PATH": SYSTEM_PATH, "HOME": str(checkout), **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_a_link_to_the_environment_of_another_folder_is_left_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for checkout in (first, second):
        checkout.mkdir()
        copy_root(checkout)
    fake_venv(first)
    before = (first / ".venv/bin/voxfleet").read_text(encoding="utf-8")
    (second / ".venv").symlink_to(first / ".venv")
    result = run(second)
    assert result.returncode == 1
    assert f"{second}/.venv is a link to the environment of {first}" in result.stderr
    assert "Installing" not in result.stdout
    assert (first / ".venv/bin/voxfleet").read_text(encoding="utf-8") == before


def test_an_environment_may_be_a_link_to_another_disk(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fake_venv(checkout)
    elsewhere = tmp_path_factory.mktemp("disk") / "venv"
    (checkout / ".venv").rename(elsewhere)
    (checkout / ".venv").symlink_to(elsewhere)
    assert "voxfleet serve" in run(checkout).stdout


def test_an_old_python_is_refused_with_advice(checkout: Path) -> None:
    program(checkout / "bin/oldpython", "exit 1")
    result = run(checkout, VOXFLEET_PYTHON=str(checkout / "bin/oldpython"))
    assert result.returncode == 1
    assert f"no Python 3.11 or newer found in VOXFLEET_PYTHON={checkout}/bin/oldpython" in result.stderr
    assert not (checkout / ".venv").exists()


def test_a_shim_that_names_no_real_python_is_stepped_over(checkout: Path) -> None:
    fake_venv(checkout)
    shutil.rmtree(checkout / ".venv")
    program(checkout / "bin/shim", "echo 'not installed' >&2; exit 127")
    good = checkout / "bin/good"
    program(good, f'[ "$1" = -m ] && exit 1\nexec {sys.executable} "$@"')
    result = run(checkout, VOXFLEET_PYTHON=f"{checkout / 'bin/shim'} {good}")
    assert f"({good})" in result.stdout


def test_a_python_without_venv_is_refused_with_the_package_to_install(checkout: Path) -> None:
    good = checkout / "bin/python3"
    program(good, f'[ "$1" = -m ] && exit 1\nexec {sys.executable} "$@"')
    result = run(checkout, VOXFLEET_PYTHON=str(good))
    assert result.returncode == 1
    assert "python3-venv" in result.stderr
    assert not (checkout / ".venv").exists()


def test_a_broken_virtual_environment_is_not_deleted_but_named(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    result = run(checkout)
    assert result.returncode == 1
    assert "remove it and run this again" in result.stderr
    assert (checkout / ".venv").is_dir()


def test_what_is_installed_is_not_installed_again_and_options_reach_serve(checkout: Path) -> None:
    fake_venv(checkout)
    result = run(checkout, "--port", "9000", "--model", "a b")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "voxfleet serve --port 9000 --model a b"


def test_install_only_stops_before_serving(checkout: Path) -> None:
    fake_venv(checkout)
    result = run(checkout, "--install-only")
    assert result.returncode == 0, result.stderr
    assert "voxfleet serve" not in result.stdout


@pytest.mark.parametrize("name", ["pyproject.toml", "locks/base.txt"])
def test_a_changed_dependency_file_installs_again(checkout: Path, name: str) -> None:
    fake_venv(checkout)
    with (checkout / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    result = run(checkout, "--install-only")
    assert "Installing" in result.stdout
    assert result.returncode == 1, "the pip of the fake environment fails, and so must the script"
    assert "could not be installed" in result.stderr


def test_an_extra_that_is_missing_installs_and_one_that_is_there_does_not(checkout: Path) -> None:
    fake_venv(checkout)
    assert "Installing" in run(checkout, "--install-only", VOXFLEET_EXTRAS="test").stdout
    fake_venv(checkout, extras="flash,test")
    assert "Installed already" in run(checkout, "--install-only", VOXFLEET_EXTRAS="test").stdout
    assert "Installed already" in run(checkout, "--install-only").stdout


def test_a_folder_that_was_moved_is_installed_again(checkout: Path) -> None:
    old = checkout / "old"
    old.mkdir()
    copy_root(old)
    fake_venv(old)
    assert "Installed already" in run(old, "--install-only").stdout
    old.rename(checkout / "new")
    assert "Installing" in run(checkout / "new", "--install-only").stdout


def test_an_extra_that_does_not_exist_is_refused_with_those_that_do(checkout: Path) -> None:
    fake_venv(checkout)
    result = run(checkout, "--install-only", VOXFLEET_EXTRAS="test,tets")
    assert result.returncode == 1
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert f"there is no extra 'tets', but {', '.join(extras)}." in result.stderr
    assert "Installing" not in result.stdout


def test_a_full_disk_is_refused_before_the_download(checkout: Path) -> None:
    fake_venv(checkout)
    (checkout / ".venv/.voxfleet-installed").unlink()
    program(checkout / "bin/df", "printf 'Filesystem 1M-blocks Used Available\\nx 1 1 12 1%% /\\n'")
    result = run(checkout, "--install-only", PATH=f"{checkout / 'bin'}:{SYSTEM_PATH}")
    assert result.returncode == 1
    assert "12 MiB are free" in result.stderr


def test_the_test_script_fails_when_installing_fails(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    result = subprocess.run(
        [str(checkout / "run_tests.sh")],
        env={**os.environ, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "All passed" not in result.stdout


@pytest.mark.parametrize("name", ["start_all.sh", "run_tests.sh", ".ci/run"])
def test_a_script_is_executable_and_parses(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)
    subprocess.run(["bash", "-n", str(ROOT / name)], check=True)
