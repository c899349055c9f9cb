"""Tools from npm that judge pages: axe-core, html-validate and Lighthouse, as `tests/pages/` pins them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from voxfleet.processes.ports import any_free

FOLDER = Path(__file__).resolve().parent / "pages"
INSTALL_SECONDS, RUN_SECONDS, START_SECONDS = 300, 240, 60


@cache
def installed() -> Path:
    """The folder of the tools, with their packages. Raises RuntimeError where they cannot be installed."""
    if _has_what_is_pinned():
        return FOLDER
    if shutil.which("npm") is None:
        raise RuntimeError("the tools that judge pages need npm")
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"npm ci failed: {done.stderr[-2000:]}")
    return FOLDER


def _has_what_is_pinned() -> bool:
    pinned = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    for name, version in pinned.items():
        package = FOLDER / "node_modules" / name / "package.json"
        if not package.is_file() or json.loads(package.read_text(encoding="utf-8"))["version"] != version:
            return False
    return True


def axe_source() -> str:
    """The script that defines `axe` in a page."""
    return (installed() / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def html_faults(urls: list[str]) -> list[str]:
    """What html-validate's recommended rules say of these pages."""
    return _node("html.mjs", *urls).splitlines()


@contextlib.contextmanager
def debugged_chromium(shell: bool = False) -> Iterator[int]:
    """The debugging port of a Chromium of its own, which Lighthouse drives.

    shell: where it is there, the form without anything around the page.
    """
    names = (["chromium-headless-shell"] if shell else []) + ["chromium", "chromium-browser"]
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise RuntimeError("Lighthouse needs Chromium")
    port = any_free("127.0.0.1")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        arguments = ["--headless=new", "--no-sandbox", f"--remote-debugging-port={port}"]
        arguments += [f"--user-data-dir={profile}", "about:blank"]
        with subprocess.Popen(
            [path, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                _until_it_answers(f"http://127.0.0.1:{port}/json/version")
                yield port
            finally:
                process.terminate()


def lighthouse(
    port: int, urls: list[str], form_factor: str, *categories: str, report: Path | None = None
) -> list[dict[str, Any]]:
    """Of each page `scores` (0 to 100 by category), `metrics` (what the score of performance is made of, by
    name) and `faults`. form_factor: desktop or mobile. report: a file for the report of one page, as JSON.
    """
    arguments = [str(port), form_factor, ",".join(categories), str(report or ""), *urls]
    return [json.loads(line) for line in _node("lighthouse.mjs", *arguments).splitlines()]


@contextlib.contextmanager
def silent_sound() -> Iterator[dict[str, str]]:
    """A PulseAudio of its own that plays into nothing; what programs need in their environment to find it.

    Firefox plays nothing on a computer without a sound device.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        socket = Path(folder) / "socket"
        modules = ("module-null-sink", f"module-native-protocol-unix socket={socket} auth-anonymous=1")
        command = ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1"]
        command += [f"--load={module}" for module in modules]
        places = {"HOME": folder, "XDG_RUNTIME_DIR": folder}
        with subprocess.Popen(command, env=os.environ | places, stderr=subprocess.DEVNULL) as process:
            try:
                deadline = time.monotonic() + START_SECONDS
                while not socket.exists():
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError("PulseAudio does not start")
                    time.sleep(0.1)
                yield {"PULSE_SERVER": f"unix:{socket}"}
            finally:
                process.terminate()


def firefox_paths(firefox: str, *arguments: str) -> dict[str, Any]:
    """By path through the pages: what went `wrong`, and what the page `said`; see `firefox.mjs`."""
    with silent_sound() as places:
        answer = _node("firefox.mjs", firefox, *arguments, environment=places)
    found: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return found


def _node(script: str, *arguments: str, environment: dict[str, str] | None = None) -> str:
    command = ["node", str(installed() / script), *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
        env=os.environ | (environment or {}),
    )
    if done.returncode:
        raise RuntimeError(f"{script} failed: {done.stderr[-2000:]}")
    return done.stdout


def _until_it_answers(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
