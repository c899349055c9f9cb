"""Which build of PyTorch is taken, asked of a real pip and indexes on the loopback; and the lock files."""

from __future__ import annotations

import importlib.util
import re
import sys
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from tests.voxfleet.conftest import ROOT
from voxfleet.processes.ports import any_free

LOCKS = ROOT / "locks"


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


install_packages = load_script("install_packages")
VERSION = install_packages.locked_torch().partition("==")[2]


def wheel(folder: Path, name: str, version: str, requires: str = "") -> None:
    """A package without content, in a folder as package indexes show it."""
    file = folder / name / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    file.parent.mkdir(parents=True, exist_ok=True)
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    stem = f"{name.replace('-', '_')}-{version}.dist-info"
    with zipfile.ZipFile(file, "w") as content:
        content.writestr(
            f"{stem}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
        )
        content.writestr(f"{stem}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        content.writestr(f"{stem}/RECORD", "")


class Indexes:
    """A package index whose PyTorch has CUDA, and PyTorch's own of CPU builds, on one server."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.url = folder, f"http://127.0.0.1:{port}"
        wheel(folder / "simple", "torch", VERSION, "nvidia-cuda-runtime==13.0.96")
        wheel(folder / "simple", "nvidia-cuda-runtime", "13.0.96")
        wheel(folder / "cpu", "torch", f"{VERSION}+cpu")


@pytest.fixture
def indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Indexes]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *arguments: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = Indexes(tmp_path, server.server_port)
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", f"{found.url}/simple")
        yield found
        server.shutdown()


def installer(cpu_index: str):
    return install_packages.Installer(Path(sys.prefix), cpu_index)


def test_without_a_gpu_pytorchs_own_cpu_build_is_taken(indexes: Indexes) -> None:
    build = installer(f"{indexes.url}/cpu").choose("cpu")
    assert (build.version, build.cuda) == (f"{VERSION}+cpu", None)
    assert build.download_bytes == next((indexes.folder / "cpu/torch").iterdir()).stat().st_size


def test_where_pytorchs_index_is_out_of_reach_the_package_index_has_to_do(indexes, capsys) -> None:
    build = installer(f"http://127.0.0.1:{any_free('127.0.0.1')}/cpu").choose("cpu")
    assert (build.version, build.cuda) == (VERSION, "13.0.96")
    assert "out of reach" in capsys.readouterr().out
    assert re.search(rf"PyTorch {VERSION} with CUDA 13.0.96, from 127.0.0.1: \d+ MB to download", str(build))


def test_a_cpu_build_that_pip_knows_of_is_taken_without_asking_further(indexes, monkeypatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(indexes.folder / "cpu/torch"))
    monkeypatch.setattr(install_packages, "answers", lambda index: pytest.fail("asked"))
    build = installer(f"{indexes.url}/cpu").choose("cpu")
    assert build.version == f"{VERSION}+cpu"
    assert str(build) == f"PyTorch {VERSION}+cpu for CPUs, from this machine: nothing to download"


def test_with_a_gpu_the_build_with_cuda_is_taken(indexes: Indexes) -> None:
    assert installer(f"{indexes.url}/cpu").choose("cuda").cuda == "13.0.96"


@pytest.mark.parametrize(("driver", "serves"), [("13.1", True), ("12.4", False)])
def test_a_driver_serves_the_cuda_of_its_generation(tmp_path, monkeypatch, driver: str, serves: bool) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho '| NVIDIA-SMI 5.0  CUDA Version: {driver}  |'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install_packages.driver_serves("13.0.96") is serves


def locked(name: str) -> dict[str, set[str]]:
    """Package -> versions in a lock file; every one must have the sums of its files."""
    found: dict[str, set[str]] = {}
    text = (LOCKS / name).read_text(encoding="utf-8")
    for block in re.findall(r"^[a-z0-9].*\n(?:^    .*\n)*", text, re.MULTILINE):
        package, version = re.match(r"([a-z0-9.-]+)==([^\s;\\]+)", block).groups()
        assert "--hash=sha256:" in block, block
        found.setdefault(package, set()).add(version)
    return found


def test_the_lock_files_hold_every_dependency_in_the_version_of_the_constraints() -> None:
    """When this fails: python scripts/lock.py, see docs/dependencies.md."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    held = {}
    for file in ("test.txt", "torch.txt", "uv.txt", "align.txt", "otel.txt"):
        held |= locked(file)
    base = locked("base.txt") | locked("torch.txt")
    extras = project["optional-dependencies"]
    needs = [
        (project["dependencies"], base),
        *((extras[name], held) for name in ("test", "align", "denoise", "otel")),
    ]
    for needed, file in needs:
        names = {re.match(r"[A-Za-z0-9_-]+", line)[0].lower().replace("_", "-") for line in needed}
        assert not names - set(file), "not locked"
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if "==" in line:
            name, version = line.lower().replace("_", "-").split("==")
            assert version in held[name], f"{line} is not what is locked"


def test_no_cuda_is_locked_for_a_cpu() -> None:
    assert not [name for name in locked("base.txt") if name.startswith(install_packages.CUDA_NAMES)]
