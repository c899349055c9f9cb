"""S18: what is installed is what was locked, by hash, and an audit that could not ask says so."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LOCKS = sorted((ROOT / "locks").glob("*.txt"))
REQUIREMENT = re.compile(
    r"^([A-Za-z0-9_.-]+)(\[[\w,-]+\])?==(\S+)((?:\s+--hash=sha256:[0-9a-f]{64})+)(\s*;.*)?$"
)


def requirements(file: Path) -> list[str]:
    """One line each, however many they take in the file."""
    text = re.sub(r"\s*\\\n\s*", " ", file.read_text(encoding="utf-8"))
    lines = (line.split(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("#", "--"))]


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.name)
def test_every_package_has_one_version_and_its_hashes(file: Path) -> None:
    found = requirements(file)
    assert found
    marked = [re.sub(r"\s*;\s*[^-]*?(?=\s--hash)", "", line) for line in found]
    wrong = [line[:80] for line in marked if not REQUIREMENT.match(line)]
    assert wrong == []


def test_what_the_project_asks_for_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {re.split(r"[\s\[<>=!~;]", line)[0].lower().replace("_", "-") for line in project["dependencies"]}
    lines = [line for file in LOCKS for line in requirements(file)]
    locked = {re.split(r"[\[=]", line)[0].lower().replace("_", "-") for line in lines}
    assert asked <= locked


def test_nothing_is_installed_without_its_hash() -> None:
    """Each call of pip in what users and the image run asks for hashes, or takes nothing along."""
    script = (ROOT / "scripts" / "install_packages.py").read_text(encoding="utf-8")
    assert script.count("--require-hashes") >= 2
    for name in ("start_all.sh", "Dockerfile", "run_tests.sh"):
        text = re.sub(r"\\\n", " ", (ROOT / name).read_text(encoding="utf-8"))
        installs = re.findall(r"pip install[^\n]*", text)
        assert all("--no-deps" in line or "--require-hashes" in line for line in installs), name


def test_installed_packages_fit_together() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


def test_an_audit_that_was_skipped_is_not_called_clean() -> None:
    command = [sys.executable, "scripts/audit.py", "--source", "http://127.0.0.1:9/", "--timeout", "1"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "skipped" in result.stdout and "clean" not in result.stdout


def test_the_audit_is_part_of_every_check() -> None:
    assert "scripts/audit.py" in (ROOT / "run_tests.sh").read_text(encoding="utf-8")
    assert "run_tests.sh" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
