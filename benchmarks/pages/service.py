"""The service whose pages are measured, and what the scripts of this folder are told and tell alike."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.browser import DESKTOP, PHONE
from voxfleet.processes.ports import any_free

HERE = Path(__file__).resolve().parents[2]
TOKEN = "the-token-of-this-benchmark"
START_SECONDS = 60.0
SIZES = {"desktop": DESKTOP, "phone": PHONE}
PAGES = ("studio", "live", "chat", "books", "sessions", "session", "train", "admin")


def run(
    description: str | None,
    folder: tuple[str, str],
    measured: Callable[[dict[str, str], argparse.Namespace], dict[str, Any]],
) -> int:
    """A script of this folder, from its arguments to the file that it writes; the exit status.

    `folder`: name and help of an argument of its own, a folder that is made where it is given. `measured` is
    given the services' addresses by checkout, and the arguments.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sizes", type=_of(SIZES), default=list(SIZES), help=", ".join(SIZES))
    parser.add_argument("--pages", type=_of(PAGES), default=list(PAGES), help=", ".join(PAGES))
    parser.add_argument("--beside", type=Path, help="another checkout, to take turns with")
    parser.add_argument("--output", type=Path)
    name, what = folder
    parser.add_argument(f"--{name}", type=Path, help=what)
    arguments = parser.parse_args()
    if (wanted := getattr(arguments, name)) is not None:
        wanted.mkdir(parents=True, exist_ok=True)
    with services(arguments.beside) as urls:
        _write(measured(urls, arguments), arguments.output)
    return 0


def _of(known: Iterable[str]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        given = text.split(",")
        if unknown := sorted(set(given) - set(known)):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(known)}")
        return given

    return names


@contextlib.contextmanager
def services(beside: Path | None) -> Iterator[dict[str, str]]:
    """Addresses of gateways: of this checkout ("here") and of the one that takes turns with it ("beside")."""
    checkouts = {"here": HERE, **({"beside": beside.resolve()} if beside else {})}
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(service(checkout)) for name, checkout in checkouts.items()}


@contextlib.contextmanager
def service(checkout: Path) -> Iterator[str]:
    """The address of a gateway of that checkout, with a worker that speaks tones."""
    ports = any_free("127.0.0.1"), any_free("127.0.0.1")
    commands = (
        ["worker", "--port", str(ports[0]), "--device", "cpu", "--model", "synthetic", "--step-ms", "10"],
        ["gateway", "--workers", f"http://127.0.0.1:{ports[0]}", "--port", str(ports[1])],
    )
    with tempfile.TemporaryDirectory() as data:
        settings = {"ADMIN_TOKEN": TOKEN, "DATA_DIR": data, "TRAINING_BASE": "bundled"}
        environment = os.environ | {f"VOXFLEET_{name}": value for name, value in settings.items()}
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "voxfleet", *command],
                cwd=checkout,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in commands
        ]
        try:
            url = f"http://127.0.0.1:{ports[1]}"
            _until_ready(url)
            yield url
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait()


def _until_ready(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/ready").status_code == 200:
                return
        time.sleep(0.1)
    raise TimeoutError(f"{url} is not ready")


def addresses(url: str) -> dict[str, str]:
    """Of every page, by name; a session is recorded for the page of one."""
    answer = httpx.post(f"{url}/tts", json={"text": "A recorded sentence.", "record": True}, timeout=60)
    session = answer.headers["X-Session-Id"]
    deadline = time.monotonic() + START_SECONDS
    while httpx.get(f"{url}/api/sessions/{session}").status_code != 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    return {
        "studio": f"{url}/",
        "live": f"{url}/live",
        "chat": f"{url}/chat",
        "books": f"{url}/book",
        "sessions": f"{url}/sessions",
        "session": f"{url}/sessions/{session}",
        "train": f"{url}/train",
        "admin": f"{url}/admin#token={TOKEN}",
    }


def _write(found: dict[str, Any], output: Path | None) -> None:
    """What is known so far, to a file and to whoever looks on."""
    text = json.dumps(found, indent=2)
    if output:
        output.write_text(f"{text}\n", encoding="utf-8")
    print(text, flush=True)
