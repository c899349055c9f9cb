"""`voxfleet fleet up` as a process of its own: as many workers as are needed, and back to the least."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.voxfleet.conftest import ROOT, Served, is_gone, speak, voxfleet, wait_until

TEXT = "A sentence that takes a while to say, and is said again and again."
TOKEN = "correct-horse-battery-staple"
FILE = """
workers:
  desk: {model: synthetic, slots: 2, audio_seconds_per_second: 3, loading_seconds: 2, least: LEAST, most: 3}
objective: {first_audio_seconds: 0.75}
settle_seconds: 3
idle_seconds: IDLE
"""

pytestmark = pytest.mark.timeout(900)  # workers come and go for a minute, on a busy computer for more


class Fleet:
    """A running fleet, and what operators do with it."""

    def __init__(self, served: Served, file: Path, environment: dict[str, str]) -> None:
        self.served, self.file, self._environment = served, file, environment
        self.url = served.wait_ready()

    def command(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            voxfleet("fleet", name, str(self.file), *words, "--url", self.url),
            cwd=ROOT,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def kind(self) -> dict:
        response = httpx.get(
            f"{self.url}/api/fleet", headers={"X-Admin-Token": TOKEN}, timeout=30, trust_env=False
        )
        assert response.is_success, response.text
        answer = response.json()
        return answer["fleet"]["kinds"][0] if answer["fleet"] else {}

    def serves(self, count: int) -> bool:
        kind = self.kind()
        return bool(kind) and (kind["serving"], kind["loading"], kind["draining"]) == (count, 0, 0)

    def metrics(self) -> str:
        headers = {"X-Admin-Token": TOKEN}
        return httpx.get(f"{self.url}/metrics", headers=headers, timeout=30, trust_env=False).text

    def sayings(self) -> list[str]:
        answer = httpx.get(
            f"{self.url}/api/log?limit=500", headers={"X-Admin-Token": TOKEN}, timeout=30, trust_env=False
        )
        return [event.get("saying") for event in answer.json()["events"]]


@pytest.fixture
def up(
    serve: Callable[..., Served], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Fleet]]:
    """`up(least=1)`: starts one."""
    monkeypatch.setenv("VOXFLEET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("VOXFLEET_ADMIN_TOKEN", TOKEN)
    monkeypatch.setenv("VOXFLEET_WORKER_STEP_MS", "100")

    def start(least: int, idle_seconds: float = 900) -> Fleet:
        file = tmp_path / "fleet.yaml"
        words = FILE.replace("LEAST", str(least)).replace("IDLE", str(idle_seconds))
        file.write_text(words, encoding="utf-8")
        served = serve(str(file), "--port", "0", command=("fleet", "up"))
        return Fleet(served, file, dict(os.environ))

    yield start


def test_workers_come_with_the_load_and_go_with_it(up: Callable[..., Fleet]) -> None:
    fleet = up(least=1)
    wait_until(lambda: fleet.serves(1), "the least of workers serves")
    assert "voxfleet_objective_first_audio_seconds 0.75" in fleet.metrics().splitlines()
    enough = threading.Event()

    def listen() -> set[int]:
        lengths = set()
        while not enough.is_set():
            lengths.add(len(speak(fleet.url, TEXT).content))
        return lengths

    with ThreadPoolExecutor(8) as listeners:
        heard = [listeners.submit(listen) for _ in range(8)]
        try:
            wait_until(lambda: fleet.kind().get("serving") == 3, "three workers serve")
        finally:
            enough.set()
        lengths = set.union(*(one.result() for one in heard))
    assert len(lengths) == 1  # the same text: nothing of any clip is missing
    wait_until(lambda: fleet.serves(1), "one worker is left")
    wait_until(lambda: len(fleet.served.children("worker")) == 1, "the others have ended")
    said = fleet.sayings()
    assert {"fleet_up_floor", "fleet_down"} <= set(said)
    assert any(saying and saying.startswith("fleet_up_") and saying != "fleet_up_floor" for saying in said)

    (worker,) = fleet.served.children("worker")
    worker.send_signal(signal.SIGKILL)
    wait_until(
        lambda: [one for one in fleet.served.children("worker") if one.pid != worker.pid],
        "the worker is started again",
    )
    wait_until(lambda: fleet.serves(1), "it serves again")
    speak(fleet.url)

    processes = fleet.served.children()
    ended = fleet.command("down")
    assert ended.returncode == 0, ended.stderr
    assert fleet.served.wait_exit() == 0
    assert all(is_gone(process) for process in processes)


def test_a_model_without_workers_is_started_by_its_first_request(up: Callable[..., Fleet]) -> None:
    fleet = up(least=0, idle_seconds=2)
    wait_until(lambda: fleet.serves(0), "the fleet reports")
    assert fleet.served.children("worker") == []
    speak(fleet.url)  # which was held meanwhile
    wait_until(lambda: "fleet_up_cold" in fleet.sayings(), "the next report says why it came")
    wait_until(lambda: fleet.serves(0) and not fleet.served.children("worker"), "nobody asks any more")
    assert "fleet_down_idle" in fleet.sayings()
    speak(fleet.url, model="synthetic")  # at the address of a worker that is gone
    unknown = httpx.post(
        f"{fleet.url}/tts", json={"text": "Hello.", "model": "none"}, timeout=60, trust_env=False
    )
    assert unknown.status_code in (404, 503)


def test_operators_order_a_number_of_workers(up: Callable[..., Fleet]) -> None:
    fleet = up(least=1)
    wait_until(lambda: fleet.serves(1), "the least of workers serves")
    assert fleet.command("scale", "desk", "2").returncode == 0
    wait_until(lambda: fleet.serves(2), "two workers serve")
    assert "2 by order" in fleet.command("status").stdout
    plan = json.loads(fleet.command("plan", "--json").stdout)
    assert (plan["kind"], plan["runs"]) == ("desk", 2)
    assert fleet.command("scale", "desk", "auto").returncode == 0
    wait_until(lambda: fleet.serves(1), "as many as are needed serve")
    for words in (("desk", "4"), ("desk", "some"), ("cellar", "1")):
        assert fleet.command("scale", *words).returncode == 2
    assert {"order_count", "order_by_need"} <= set(fleet.sayings())
