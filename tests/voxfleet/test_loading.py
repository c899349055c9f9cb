"""What commands load: no part of a server that they do not need, and a server without looking for garbage."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from voxfleet.cli import app
from voxfleet.loading import loading

ROOT = Path(__file__).resolve().parents[2]
FLEET = """
workers:
  speech: {model: bundled, device: cpu, audio_seconds_per_second: 4}
"""
OF_A_SERVER = {"fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "numpy", "torch"}
PROGRAM = """
import sys
from voxfleet.cli import app
try:
    app(sys.argv[1:])
except SystemExit as ended:
    print("status", ended.code)
print("loaded", *sorted(sys.modules))
"""


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("fleet plan fleet.yaml", 0),
        ("fleet status fleet.yaml --url http://127.0.0.1:1", 1),
        ("fleet scale fleet.yaml speech 2 --url http://127.0.0.1:1", 1),
        ("fleet render fleet.yaml rendered --to kubernetes", 0),
        ("doctor --fleet --url http://127.0.0.1:1", 1),
    ],
)
def test_commands_about_a_fleet_load_nothing_of_a_server(command: str, status: int, tmp_path: Path) -> None:
    """With FastAPI and SQLAlchemy each took twice as much of a processor."""
    (tmp_path / "fleet.yaml").write_text(FLEET)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command.split()],
        cwd=tmp_path,
        env={**os.environ, "VOXFLEET_ADMIN_TOKEN": "a token of an operator", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"status {status}\n" in ran.stdout, ran.stdout + ran.stderr
    loaded = {name.partition(".")[0] for name in ran.stdout.rpartition("loaded ")[2].split()}
    assert "gateway" in loaded and not loaded & OF_A_SERVER


@pytest.mark.parametrize("command", ["gateway", "worker"])
def test_nothing_looks_for_garbage_while_a_command_loads(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for: list[bool] = []

    def attribute(name: str) -> Any:
        if name != "run":
            raise AttributeError(name)
        looked_for.append(gc.isenabled())
        return lambda **options: looked_for.append(gc.isenabled()) or 0

    module = ModuleType(f"{command}.cli")
    module.__getattr__ = attribute  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    ended = CliRunner().invoke(app, [command])
    assert ended.exit_code == 0, ended.output
    assert looked_for == [False, True]


def test_what_was_loaded_is_never_looked_through() -> None:
    frozen = gc.get_freeze_count()
    with loading():
        kept = [[] for _ in range(1000)]
    assert gc.get_freeze_count() >= frozen + len(kept)


def test_what_cannot_be_loaded_leaves_collections_on() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError("no such module")
    assert gc.isenabled()
