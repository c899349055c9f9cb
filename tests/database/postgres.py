"""A PostgreSQL server from Debian's package, for as long as a block lasts."""

from __future__ import annotations

import asyncio
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from voxfleet.processes.ports import any_free

_ACCOUNT = "postgres"
_PATIENCE_SECONDS = 150
_OPTIONS = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"


async def done_or_waiting(task: asyncio.Task[Any], session: AsyncSession) -> None:
    """Until the task is done, or waits for a lock of this or another transaction."""
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    while not task.done() and not await session.scalar(waiting):  # noqa: ASYNC110 - it is in a database
        await asyncio.sleep(0.01)


class PostgresServer:
    """Listens on the loopback and trusts every client. As root, it runs as its account."""

    def __init__(self) -> None:
        # Not in pytest's folder, which only the account that runs the tests may enter.
        self._folder = tempfile.TemporaryDirectory(prefix="voxfleet-postgres-", ignore_cleanup_errors=True)
        self._directory = Path(self._folder.name)
        self._port = any_free("127.0.0.1")
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not binaries:
            raise FileNotFoundError("PostgreSQL is not installed; ./run_tests.sh installs it where it can")
        self._binaries = binaries[-1]
        if os.geteuid() == 0:
            shutil.chown(self._directory, _ACCOUNT)
        data = self._directory / "data"
        self._run("initdb", "--auth=trust", "--no-sync", "--encoding=UTF8", "-U", _ACCOUNT, "-D", str(data))
        self._start(data)
        return self

    def _start(self, data: Path) -> None:
        """On another port when somebody else has taken the one that was free a moment ago."""
        log = self._directory / "log"
        for tries_left in (2, 1, 0):
            options = f"{_OPTIONS} -p {self._port}"
            try:
                self._run("pg_ctl", "-D", str(data), "-o", options, "-l", str(log), "-w", "start")
                return
            except RuntimeError as error:
                if not tries_left or "Address already in use" not in log.read_text():
                    error.add_note(log.read_text())
                    raise
                self._port = any_free("127.0.0.1")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run("pg_ctl", "-D", str(self._directory / "data"), "-m", "immediate", "-w", "stop")
        self._folder.cleanup()

    def create_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._numbers)}"
        server = ("-h", "127.0.0.1", "-p", str(self._port), "-U", _ACCOUNT)
        self._run("psql", *server, "-q", "-c", f"CREATE DATABASE {name}")
        return f"postgresql://{_ACCOUNT}@127.0.0.1:{self._port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        account = pwd.getpwnam(_ACCOUNT).pw_uid if os.geteuid() == 0 else None
        command = [str(self._binaries / program), *arguments]
        environment = {**os.environ, "PGCTLTIMEOUT": "120"}
        result = subprocess.run(
            command, user=account, cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False, timeout=_PATIENCE_SECONDS,
        )  # fmt: skip
        if result.returncode:
            raise RuntimeError(f"{program} failed:\n{result.stdout.decode(errors='replace')}")
