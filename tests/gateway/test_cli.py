"""Signals that come while a gateway still waits for its database."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests import forks
from tests.forks import PATIENCE_SECONDS, Process, search_path

STUCK = """
import asyncio, runpy, sys, threading

import asyncpg

async def connect(*arguments, **options):
    print("looks up", file=sys.stderr, flush=True)
    await asyncio.to_thread(threading.Event().wait)

asyncpg.connect = connect
runpy.run_module("voxfleet", run_name="__main__")
"""
"""A gateway that looks up a host at a name server which says nothing: a thread that nobody can break off."""


@contextmanager
def starting(module: str, database: str, folder: Path) -> Iterator[Process]:
    """A gateway that has to wait for that database."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith("VOXFLEET_")}
    variables |= {"VOXFLEET_DATABASE_URL": database, "VOXFLEET_DATA_DIR": str(folder / "data")}
    variables |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join((str(folder), search_path()))}
    process = forks.start(module, ["gateway", "--workers", "http://127.0.0.1:1", "--port", "0"], variables)
    with ExitStack() as ending:
        ending.callback(forks.end, process)
        yield process


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait_for_a_silent_database(sig: signal.Signals, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with starting("voxfleet", f"postgresql://u:p@127.0.0.1:{port}/voxfleet", tmp_path) as process:
            silent.settimeout(PATIENCE_SECONDS)
            with silent.accept()[0]:
                process.send_signal(sig)
                assert process.wait(PATIENCE_SECONDS) == 0


def test_a_signal_ends_the_search_for_the_host_of_a_database(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK, encoding="utf-8")
    with starting("stuck", "postgresql://u:p@db.example/voxfleet", tmp_path) as process:
        while process.stderr.readline().strip() != "looks up":
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
