"""Real child processes: their output, their end, and what becomes of them when the parent is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from voxfleet.processes.child_process import RELAY_BYTES, ChildProcess

ROOT = Path(__file__).resolve().parents[3]
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); time.sleep(600)"


class Lines(list[str]):
    """What a child printed; `first()` waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self._arrived = asyncio.Event()

    def append(self, line: str) -> None:
        super().append(line)
        self._arrived.set()

    async def first(self) -> str:
        await self._arrived.wait()
        return self[0]


async def start(program: str, lines: Lines, **environment: str) -> ChildProcess:
    return await ChildProcess.start([sys.executable, "-c", program], environment, lines.append)


async def test_every_line_of_both_streams_is_relayed_and_the_last_needs_no_newline() -> None:
    lines = Lines()
    program = "import os; os.write(1, b'one\\r\\ntwo\\n'); os.write(2, b'\\xff\\n'); os.write(1, b'end')"
    child = await start(program, lines)
    assert await child.wait() == 0
    assert lines == ["one", "two", "\N{REPLACEMENT CHARACTER}", "end"]


async def test_a_line_without_end_is_relayed_in_pieces_and_loses_nothing() -> None:
    lines = Lines()
    length = 3 * RELAY_BYTES + 17
    child = await start(f"print('x' * {length})", lines)
    assert await child.wait() == 0
    assert "".join(lines) == "x" * length
    assert max(map(len, lines)) <= 2 * RELAY_BYTES


async def test_the_child_gets_the_environment_on_top_of_ours() -> None:
    lines = Lines()
    child = await start("import os; print(os.environ['SECRET'], 'PATH' in os.environ)", lines, SECRET="s3")
    await child.wait()
    assert lines == ["s3 True"]


async def test_stop_is_polite_first() -> None:
    lines = Lines()
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "print('up')\n"
        "time.sleep(600)"
    )
    child = await start(program, lines)
    await lines.first()
    await child.terminate(grace_seconds=60)
    assert await child.wait() == 7


async def test_a_child_that_ignores_sigterm_is_killed() -> None:
    lines = Lines()
    child = await start(STUBBORN, lines)
    await lines.first()
    await child.terminate(grace_seconds=0.1)
    assert await child.wait() == -signal.SIGKILL


async def test_what_a_child_started_ends_with_it() -> None:
    lines = Lines()
    program = (
        "import subprocess, sys\n"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)"
    )
    child = await start(program, lines)
    grandchild = psutil.Process(int(await lines.first()))
    await child.wait()
    await asyncio.to_thread(psutil.wait_procs, [grandchild], timeout=60)
    assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE


async def test_a_program_that_is_not_there_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        await ChildProcess.start(["/nonexistent/program"], {}, print)


def test_a_watched_child_ends_when_its_parent_is_killed() -> None:
    """The parent starts a child that sleeps for ever under the watch, and is itself ended by SIGKILL."""
    child_program = (
        "from voxfleet.processes.parent_watch import exit_with_parent\n"
        "import time\n"
        "exit_with_parent()\n"
        "print('watching', flush=True)\n"
        "time.sleep(600)"
    )
    parent_program = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child_program!r}], stdin=subprocess.PIPE,"
        " stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", parent_program], stdout=subprocess.PIPE, cwd=ROOT) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        os.kill(parent.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs([child], timeout=60)
    assert not alive or child.status() == psutil.STATUS_ZOMBIE


def test_a_watched_child_that_ignores_sigterm_ends_too() -> None:
    program = (
        "from voxfleet.processes.parent_watch import exit_with_parent\n"
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "exit_with_parent(grace_seconds=0.1)\n"
        "time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, cwd=ROOT)
    child.stdin.close()
    assert child.wait(timeout=60) == 1
