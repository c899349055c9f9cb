"""`scripts/gpu_tests.sh` says what stops it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[3]


def run(
    output: Path, *arguments: str, root: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(root / "scripts" / "gpu_tests.sh"), *arguments],
        env={**os.environ, "PYTHON": sys.executable, "GPU_TESTS_OUTPUT": str(output), **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_nothing_is_run_or_written(tmp_path: Path) -> None:
    result = run(tmp_path / "output.txt")
    assert result.returncode == 2 and "no CUDA device" in result.stderr
    assert not (tmp_path / "output.txt").exists()


def test_the_environment_of_the_installation_is_taken(tmp_path: Path) -> None:
    packages = ("benchmarks/__init__.py", "benchmarks/gpu/__init__.py")
    copied = ("scripts/gpu_tests.sh", *packages, "benchmarks/gpu/device.py")
    for name in copied:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    interpreter = tmp_path / ".venv" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f'#!/bin/sh\necho "installed" >&2\nexec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    result = run(tmp_path / "output.txt", "nonsense", root=tmp_path, PYTHON="", GPU_TESTS_DEVICE="cpu")
    assert result.returncode == 1 and "installed" in result.stderr


def test_a_part_that_fails_fails_the_script_and_stands_in_its_output(tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    result = run(output, "nonsense", GPU_TESTS_DEVICE="cpu")
    assert result.returncode == 1
    assert "no such part: nonsense" in output.read_text()
    assert output.read_text().splitlines()[-1] == "==> FAILED: nonsense"


def test_tests_that_lack_a_package_are_skipped_and_name_it(tmp_path: Path) -> None:
    hidden = ("soundfile", "soxr", "fastapi")
    (tmp_path / "hidden.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({hidden}))\n")
    files = [f"tests/gpu/{name}.py" for name in ("test_bundled", "test_worker", "devices/test_lost_device")]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "hidden", "--confcutdir=tests/gpu", *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}", "GPU_TESTS_DEVICE": "cpu"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout
    assert "passed" not in result.stdout
    assert "the recording of a voice needs soundfile, soxr" in result.stdout
    assert "a worker process needs fastapi, soundfile, soxr" in result.stdout
