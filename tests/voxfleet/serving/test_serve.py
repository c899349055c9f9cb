"""`voxfleet serve` as a process of its own: ready, speaking, mending itself, and ending without a trace."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import socket
import subprocess
import wave
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from gateway import cli as gateway_cli
from gateway import service
from tests.text_models import STORY, telling_model
from tests.voxfleet.conftest import ROOT, Served, is_gone, speak, voxfleet, wait_until
from voxfleet.serving.supervisor import LAST_WORDS_SECONDS

SYNTHETIC = ("--model", "synthetic", "--port", "0", "--workers", "1")
Serve = Callable[..., Served]


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ready", timeout=5, trust_env=False).is_success
    except httpx.TransportError:
        return False


def test_a_ready_server_speaks(running: tuple[Served, str]) -> None:
    _, url = running
    response = speak(url)
    with wave.open(io.BytesIO(response.content)) as clip:
        assert clip.getnframes() > 0
        assert clip.getframerate() == int(response.headers["x-sample-rate"])


def test_the_secret_is_on_no_command_line(running: tuple[Served, str]) -> None:
    served, _ = running
    (worker,) = served.children("worker")
    secret = worker.environ()["VOXFLEET_WORKER_SECRET"]
    assert len(secret) >= 32
    assert served.children("gateway")[0].environ()["VOXFLEET_WORKER_SECRET"] == secret
    for process in (psutil.Process(served.process.pid), *served.children()):
        assert not any(secret in argument for argument in process.cmdline())
    assert secret not in served.output


def test_a_worker_refuses_who_does_not_know_the_secret(running: tuple[Served, str]) -> None:
    served, _ = running
    command = served.children("worker")[0].cmdline()
    port = command[command.index("--port") + 1]
    response = httpx.post(f"http://127.0.0.1:{port}/drain", trust_env=False)
    assert response.status_code in (401, 403)


def test_bench_measures_a_running_server(running: tuple[Served, str], tmp_path: Path) -> None:
    _, url = running
    file = tmp_path / "bench.json"
    command = voxfleet(
        "bench", "--url", url, "-c", "2", "-n", "4", "--text", "Hello there.", "--json", str(file)
    )
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    figures = json.loads(file.read_text(encoding="utf-8"))
    assert figures == json.loads(result.stdout)
    assert (figures["requests"], figures["errors"]) == (4, {})
    assert figures["audio_seconds"] > 0
    assert 0 < figures["first_audio_seconds"]["p50"] <= figures["first_audio_seconds"]["p99"]


def test_bench_measures_a_server_that_asks_for_a_key(serve: Serve, tmp_path: Path) -> None:
    key = "the key of a bench"
    config = tmp_path / "keys.yaml"
    config.write_text(f"gateway: {{anonymous: false, api_keys: {{bench: {{key: {key}}}}}}}", encoding="utf-8")
    command = voxfleet("bench", "--url", serve(*SYNTHETIC, "--config", str(config)).wait_ready(), "-n", "1")
    for options, environment, exit_code in (
        ((), {}, 1),
        (("--api-key", key), {}, 0),
        ((), {"VOXFLEET_API_KEY": key}, 0),
    ):
        result = subprocess.run(
            [*command, *options],
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == exit_code, result.stdout + result.stderr
        assert key not in result.stdout + result.stderr


def test_bench_fails_when_requests_fail(running: tuple[Served, str]) -> None:
    _, url = running
    command = voxfleet("bench", "--url", url, "-n", "2", "--voice", "no-such-voice")
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    figures = json.loads(result.stdout)
    assert figures["requests"] == 0
    assert sum(figures["errors"].values()) == 2


def test_a_killed_worker_comes_back_and_speaks(serve: Serve) -> None:
    served = serve(*SYNTHETIC)
    url = served.wait_ready()
    (worker,) = served.children("worker")
    worker.send_signal(signal.SIGKILL)
    served.wait_for_output("worker-0 was ended by SIGKILL, as where memory runs out; starting it again")
    replacement = wait_until(
        lambda: [child for child in served.children("worker") if child.pid != worker.pid], "a worker is back"
    )[0]
    served.wait_for_output(r"(?s)SIGKILL.*worker-0: ready")
    wait_until(lambda: is_ready(url), "the gateway sees the worker again")
    speak(url)
    assert not is_gone(replacement)


def test_a_killed_gateway_comes_back_on_the_same_port(serve: Serve) -> None:
    served = serve(*SYNTHETIC)
    url = served.wait_ready()
    (worker,) = served.children("worker")
    served.children("gateway")[0].send_signal(signal.SIGKILL)
    served.wait_for_output(r"(?s)gateway was ended by SIGKILL.*gateway: ready")
    wait_until(lambda: is_ready(url), "the new gateway is ready")
    speak(url)
    assert served.children("worker")[0].pid == worker.pid


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_ends_everything_with_success(serve: Serve, number: signal.Signals) -> None:
    served = serve("--model", "synthetic", "--port", "0", "--workers", "2")
    served.wait_ready()
    children = served.children()
    assert len(children) == 3
    served.process.send_signal(number)
    assert served.wait_exit() == 0, served.output
    assert all(is_gone(child) for child in children)
    assert "starting it again" not in served.output
    assert "Traceback" not in served.output


def test_a_clip_under_way_when_the_server_is_stopped_is_still_delivered_whole(
    serve: Serve, tmp_path: Path
) -> None:
    config = tmp_path / "slow.yaml"
    config.write_text("worker: {step_ms: 100}\nserve: {shutdown_seconds: 60}", encoding="utf-8")
    served = serve(*SYNTHETIC, "--config", str(config))
    url = served.wait_ready()
    with ThreadPoolExecutor() as pool:
        pending = pool.submit(speak, url, "Please let me finish this sentence.", format="pcm")
        served.wait_for_output('"event": "accepted"')
        served.process.send_signal(signal.SIGTERM)
        response = pending.result()
    assert response.headers["x-finish-reason"] == "stop"
    rate, seconds = int(response.headers["x-sample-rate"]), float(response.headers["x-audio-seconds"])
    assert len(response.content) == round(2 * rate * seconds)
    assert served.wait_exit() == 0


def test_a_signal_while_it_is_still_starting_ends_it_too(serve: Serve) -> None:
    served = serve(*SYNTHETIC)
    children = wait_until(
        lambda: served.children() if len(served.children()) == 2 else None, "children start"
    )
    served.process.send_signal(signal.SIGTERM)
    assert served.wait_exit() == 0, served.output
    assert all(is_gone(child) for child in children)


def test_children_end_when_the_supervisor_is_killed(serve: Serve) -> None:
    served = serve(*SYNTHETIC)
    served.wait_ready()
    children = served.children()
    os.kill(served.process.pid, signal.SIGKILL)
    wait_until(lambda: all(is_gone(child) for child in children), "no orphan is left")


def test_a_taken_port_ends_it_with_a_message(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        served = serve("--model", "synthetic", "--port", str(port))
        assert served.wait_exit() == 1
    assert f"cannot listen on 127.0.0.1:{port}" in served.output
    assert "Traceback" not in served.output


def test_a_missing_model_ends_it_with_a_message(serve: Serve, tmp_path: Path) -> None:
    served = serve("--model", str(tmp_path / "absent"), "--port", "0")
    assert served.wait_exit() == 1
    assert "no such model directory" in served.output


def test_a_model_that_cannot_be_loaded_ends_it_after_some_tries(serve: Serve, tmp_path: Path) -> None:
    """An empty directory passes the first look; only the worker finds out."""
    served = serve("--model", str(tmp_path), "--port", "0", "--workers", "1", "--device", "cpu")
    assert served.wait_exit() == 1
    assert served.output.count("starting it again") == 2
    assert "cannot serve: no worker starts; worker-0 failed" in served.output
    assert "has no config.json" in served.output
    assert "is ready" not in served.output


def test_a_checkpoint_is_loaded_with_its_stages_shown_and_speaks(serve: Serve) -> None:
    tiny = ROOT / "tests" / "parity" / "tiny_v2"
    served = serve("--model", str(tiny), "--port", "0", "--workers", "1", "--device", "cpu")
    url = served.wait_ready()
    served.wait_for_output(r"(?s)worker-0: (?!ready).*worker-0: ready")
    assert float(speak(url, "Hello there.", seed=3).headers["x-audio-seconds"]) > 0


def test_two_servers_can_run_side_by_side(running: tuple[Served, str], serve: Serve) -> None:
    _, first_url = running
    second_url = serve(*SYNTHETIC).wait_ready()
    assert second_url != first_url
    speak(first_url)
    speak(second_url)


def test_a_text_model_beside_speech_speaks_what_it_writes(serve: Serve, tmp_path: Path) -> None:
    model = telling_model(tmp_path / "teller")
    url = serve(*SYNTHETIC, "--text-model", str(model), "--device", "cpu").wait_ready()

    def both_listed() -> bool:
        models = httpx.get(f"{url}/v1/models", timeout=30, trust_env=False).json()["data"]
        return [one["id"] for one in models] == ["synthetic", "teller"]

    wait_until(both_listed, "both models are served")
    question = [{"role": "user", "content": "What did you see?"}]
    spoken = {"modalities": ["text", "audio"], "audio": {"voice": "default", "format": "wav"}}
    answer = httpx.post(
        f"{url}/v1/chat/completions", json={"messages": question, "max_tokens": 10, **spoken}, timeout=60,
        trust_env=False,
    )  # fmt: skip
    audio = answer.json()["choices"][0]["message"]["audio"]
    assert audio["transcript"].startswith(STORY[0])
    with wave.open(io.BytesIO(base64.b64decode(audio["data"]))) as clip:
        assert clip.getnframes() > clip.getframerate()


def test_a_gateway_is_given_the_time_that_its_end_takes() -> None:
    """Its clients hear of it, their connections close, and its database is written, if it may be."""
    takes = service._LAST_WORDS_SECONDS + gateway_cli._LAST_WORDS_SECONDS + service._LAST_ROWS_SECONDS
    assert takes < LAST_WORDS_SECONDS
