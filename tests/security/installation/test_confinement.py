"""S19: as services, gateway and workers have a read-only disk, no privileges and a bound on processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.forks import search_path

ROOT = Path(__file__).resolve().parents[3]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))[
    "services"
]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_privileges(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True and service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"] and "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert 0 < service["pids_limit"] <= 4096
    assert not {"privileged", "network_mode", "pid", "ipc", "devices"} & set(service)
    assert not [volume for volume in service["volumes"] if volume.startswith(("/", ".", "~"))]


def test_no_more_than_the_gateway_is_published() -> None:
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"gateway"}


def test_the_image_runs_as_somebody_without_rights() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users and users[-1] not in ("root", "0")
    assert not [line for line in lines if "chmod 777" in line or "sudo" in line]


PROGRAM = """
import asyncio, json, os, sys

opened = []

def watch(event, arguments):
    if event == "sqlite3.connect":
        opened.append(str(arguments[0]))
    elif event == "open" and isinstance(arguments[0], str):
        writes = set(arguments[1] or "") & set("wax+") or (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
        if writes:
            opened.append(arguments[0])
    elif event in ("os.mkdir", "os.rename", "os.remove"):
        opened.append(str(arguments[0]))

from gateway.app import create_app
from gateway.settings import load_settings
sys.addaudithook(watch)

async def run():
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", data_dir=sys.argv[1]))
    async with app.router.lifespan_context(app):
        recording = app.state.gateway.recorder.open("clip", {}, "me", asked=True)
        recording.utterance("Hello.", {})
        recording.audio(0, bytes(100), 24000)
        recording.finish("stop")
        await app.state.gateway.recorder.settled(recording.session_id)

asyncio.run(run())
print(json.dumps(opened))
"""


def test_a_gateway_writes_below_its_data_folder_alone(tmp_path: Path) -> None:
    """So all else may be read-only."""
    environment = {**os.environ, "PYTHONPATH": search_path(), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "data")],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    opened = json.loads(result.stdout.splitlines()[-1])
    assert any("/sessions/" in name and "/.new-" in name for name in opened), "the recording was seen"
    elsewhere = {name for name in opened if not name.removeprefix("file:").startswith(str(tmp_path / "data"))}
    assert elsewhere <= {"/dev/null"}
