"""S2, S28: the admin token that a gateway makes at its first start; the secret that lets clips outlive it."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from websockets.asyncio.client import connect

from gateway.files.kept_secrets import ADMIN_TOKEN, RESUME_SECRET, kept_secret, read_secret
from tests.e2e.processes import eventually, free_port
from tests.forks import PATIENCE_SECONDS, REPOSITORY, search_path
from tests.gateway.callers.administration import ADMIN
from tests.gateway.stages.processes import LONG_TEXT, StartFleet, check_error
from tests.security.raw import NOWHERE


def token_of(folder: Path) -> str:
    return read_secret(folder / ADMIN_TOKEN)


def test_a_gateway_makes_a_token_and_loopback_alone_opens_nothing(start: StartFleet, tmp_path: Path) -> None:
    gateway = start.gateway(NOWHERE, data_dir=tmp_path, admin_token="", expose_metrics=False)
    token = token_of(tmp_path)
    assert len(token) >= 32
    assert stat.S_IMODE((tmp_path / ADMIN_TOKEN).stat().st_mode) == 0o600
    for path in ("/api/workers", "/api/queue", "/api/log", "/api/history", "/api/settings/eta", "/metrics"):
        check_error(httpx.get(gateway.url + path), 401)
        check_error(httpx.get(gateway.url + path, headers={"X-Admin-Token": token[:-1] + "."}), 401)
        assert httpx.get(gateway.url + path, headers={"X-Admin-Token": token}).status_code == 200
    gateway.terminate()
    assert token not in "".join(gateway.log)
    again = start.gateway(NOWHERE, data_dir=tmp_path, admin_token="")
    assert token_of(tmp_path) == token
    assert httpx.get(f"{again.url}/api/workers", headers={"X-Admin-Token": token}).status_code == 200


def test_metrics_have_a_token_of_their_own(start: StartFleet, tmp_path: Path) -> None:
    settings = {"data_dir": tmp_path, "expose_metrics": False, "metrics_token": "a-token-for-prometheus"}
    gateway = start.gateway(NOWHERE, **settings)
    headers = {"Authorization": "Bearer a-token-for-prometheus"}
    assert httpx.get(f"{gateway.url}/metrics", headers=headers).status_code == 200
    assert httpx.get(f"{gateway.url}/metrics", headers=ADMIN).status_code == 200
    check_error(httpx.get(f"{gateway.url}/api/workers", headers=headers), 401)


def make(folder: str) -> str:
    return kept_secret(Path(folder), ADMIN_TOKEN)


def test_gateways_that_start_together_have_one(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        made = pool.map(make, [str(tmp_path / "data")] * 8)
    assert len(set(made)) == 1
    assert [path.name for path in (tmp_path / "data").iterdir()] == [ADMIN_TOKEN], "no draft is left"


def test_a_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    token = kept_secret(tmp_path, ADMIN_TOKEN)
    (tmp_path / ADMIN_TOKEN).chmod(0o644)
    assert kept_secret(tmp_path, ADMIN_TOKEN) == token
    assert stat.S_IMODE((tmp_path / ADMIN_TOKEN).stat().st_mode) == 0o600


def test_a_secret_has_its_name_once_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that a power failure left empty would be no secret at any later start."""
    synced: list[tuple[int, list[str]]] = []

    def sync(file: int) -> None:
        synced.append((os.fstat(file).st_size, [path.name for path in tmp_path.glob(ADMIN_TOKEN)]))

    monkeypatch.setattr(os, "fsync", sync)
    token = kept_secret(tmp_path, ADMIN_TOKEN)
    assert synced == [(len(token) + 1, [])]


def test_what_is_no_secret_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / ADMIN_TOKEN).write_text("a\n")
    assert len(kept_secret(tmp_path, ADMIN_TOKEN)) >= 32
    assert (tmp_path / ADMIN_TOKEN).read_text() == "a\n"
    (tmp_path / "elsewhere").write_text("a-secret-that-belongs-to-somebody-else")
    (tmp_path / RESUME_SECRET).symlink_to(tmp_path / "elsewhere")
    assert kept_secret(tmp_path, RESUME_SECRET) != "a-secret-that-belongs-to-somebody-else"


# ------------------------------------------------------------------------------------------- voxfleet serve


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, Path]]:
    """`voxfleet serve` with the model of tones; its port and what it prints."""
    port = free_port()
    variables = {**os.environ, "VOXFLEET_DATA_DIR": str(folder), "PYTHONPATH": search_path()}
    command = ["serve", "--model", "synthetic", "--device", "cpu", "--port", str(port)]
    with tempfile.NamedTemporaryFile() as printed:
        process = subprocess.Popen(
            [sys.executable, "-m", "voxfleet", *command],
            cwd=REPOSITORY, env=variables, stdout=printed, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            yield port, Path(printed.name)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_SECONDS)
            finally:
                process.kill()


async def test_a_log_of_serve_tells_where_the_token_is_and_its_clips_outlive_its_gateway(
    tmp_path: Path,
) -> None:
    """A killed gateway once lost them all, since the next had another secret."""
    with serving(tmp_path) as (port, printed):
        told = eventually(lambda: re.search(r"/admin, opened by the token in (\S+)", printed.read_text()))
        assert Path(told[1]) == tmp_path / ADMIN_TOKEN
        own = read_secret(Path(told[1]))
        headers = {"X-Admin-Token": own}
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers) as http:
            assert (await http.get("/api/workers")).status_code == 200
        assert own not in printed.read_text()
        token = ""
        async with connect(f"ws://127.0.0.1:{port}/ws/tts", proxy=None) as socket:
            await socket.send(json.dumps({"text": LONG_TEXT, "seed": 1, "resume": True}))
            while token.count(".") < 4:
                message = await socket.recv()
                if isinstance(message, str) and (news := json.loads(message))["type"] == "resume_token":
                    token += news["token"]
            gateways = [
                process
                for process in psutil.process_iter(["cmdline"])
                if {"gateway", str(port)} <= set(process.info["cmdline"] or ())
            ]
            assert len(gateways) == 1
            os.kill(gateways[0].pid, signal.SIGKILL)
            gateways[0].wait()

        def ready() -> bool:
            try:
                return httpx.get(f"http://127.0.0.1:{port}/ready").is_success
            except httpx.TransportError:
                return False

        eventually(ready, 180)
        async with connect(f"ws://127.0.0.1:{port}/ws/tts", proxy=None) as socket:
            await socket.send(json.dumps({"resume_token": token}))
            kinds = []
            async for message in socket:
                if isinstance(message, str):
                    kinds.append(json.loads(message)["type"])
        assert kinds[-1] == "done", kinds


# --------------------------------------------------------------------------------- administrators' voices


@pytest.mark.parametrize("headers", [ADMIN, {"Authorization": f"Bearer {ADMIN['X-Admin-Token']}"}])
def test_an_administrator_needs_no_key_where_everybody_else_does(
    start: StartFleet, headers: dict[str, str]
) -> None:
    """With `anonymous: false` the admin page could delete no voice."""
    gateway = start.gateway(NOWHERE, anonymous=False)
    url = f"{gateway.url}/api/voices/v_0123456789abcdef"
    check_error(httpx.delete(url), 401)
    assert check_error(httpx.delete(url, headers=headers), 404)["code"] == "unknown_voice"
    changed = httpx.patch(url, headers=headers, json={"name": "Another"})
    assert check_error(changed, 404)["code"] == "unknown_voice"
