"""Installs the clients that are tried here, in the versions of the two lock files, into `data/clients`.

    .venv/bin/python -m tests.clients.install

Does nothing where they are installed already. Needs the indexes of Python and npm packages; Node.js is one of
them. Ends with an error after `LIMIT_SECONDS` at the latest.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FOLDER = ROOT / "data/clients"
LIMIT_SECONDS = 600.0
SOURCES = (HERE / "lock.txt", HERE / "package.json", HERE / "package-lock.json")


class InstallError(RuntimeError):
    """What could not be installed, and what the installer said."""


def install(folder: Path = FOLDER, limit_seconds: float = LIMIT_SECONDS) -> Path:
    """The folder with the clients: a virtual environment, and `node_modules`. Raises InstallError."""
    stamp, wanted = folder / "installed", _fingerprint(folder)
    with _alone(folder):
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            _install(folder, time.monotonic() + limit_seconds)
            stamp.write_text(wanted)
    return folder


def _fingerprint(folder: Path) -> str:
    """What is installed, for which Python, and where: an environment cannot be moved."""
    contents = b"".join(source.read_bytes() for source in SOURCES)
    return hashlib.sha256(contents + f"{sys.version} {folder}".encode()).hexdigest()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process installs, others wait for it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(folder: Path, deadline: float) -> None:
    venv.create(folder, with_pip=True)
    python = str(folder / "bin/python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
    locked = ["--no-deps", "--require-hashes", "-r"]
    _run([*pip, *locked, str(ROOT / "locks/uv.txt")], folder, deadline)
    uv = [python, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    try:
        _run([*uv, *locked, str(SOURCES[0])], folder, deadline)
    except InstallError as error:  # uv takes a seventh of pip's time, but heeds none of pip's settings
        print(f"{error}\nAgain, with pip", file=sys.stderr)
        _run([*pip, *locked, str(SOURCES[0])], folder, deadline)
    for source in SOURCES[1:]:
        shutil.copy(source, folder)
    npm = [str(folder / "bin/npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    _run(npm, folder, deadline)


def _run(command: list[str], folder: Path, deadline: float) -> None:
    """Raises InstallError."""
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said, problem = "", "took too long"
    try:
        said, _ = process.communicate(timeout=max(1.0, deadline - time.monotonic()))
        problem = f"failed with {process.returncode}" if process.returncode else ""
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode(errors="replace")
    finally:
        with suppress(ProcessLookupError):  # what it started, too
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if problem:
        raise InstallError(f"{' '.join(command)} {problem}:\n{said}")


if __name__ == "__main__":
    try:
        print(install())
    except InstallError as problem:
        sys.exit(f"The clients could not be installed: {problem}")
