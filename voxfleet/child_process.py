"""One run of one child: started in its own process group, its output relayed line by line, ended without
orphans.

The child's standard input is a pipe that only this process holds open, see `voxfleet.parent_watch`. Its own
process group keeps a Ctrl-C of the terminal away from it (the supervisor decides the order in which children
end) and lets one SIGKILL reach whatever it started itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Self

RELAY_BYTES = 65536
RELAY_DRAIN_SECONDS = 1.0
"""How long the output of an ended process is waited for; only something that left its group can hold it open.
"""


def voxfleet_command(*arguments: str) -> list[str]:
    """The command line of `voxfleet ARGUMENTS` as a supervised child of this process."""
    return [sys.executable, "-m", "voxfleet.parent_watch", *arguments]


class ChildProcess:
    """A started process; make one with `await ChildProcess.start(...)`."""

    def __init__(self, process: asyncio.subprocess.Process, on_line: Callable[[str], None]) -> None:
        self._process = process
        self._relay = asyncio.create_task(self._relay_output(on_line))

    @classmethod
    async def start(
        cls, command: Sequence[str], environment: Mapping[str, str], on_line: Callable[[str], None]
    ) -> Self:
        """Starts `command` with `environment` added to this process's own.

        `on_line` gets every line of standard output and error, without its newline. Raises OSError when the
        program cannot be started at all.
        """
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            process_group=0,
        )
        return cls(process, on_line)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative is the number of the signal that ended it."""
        return self._process.returncode

    async def wait(self) -> int:
        """Waits for the end, takes leftovers of its process group with it, and returns the exit code."""
        exit_code = await self._process.wait()
        self.kill()
        await asyncio.wait({self._relay}, timeout=RELAY_DRAIN_SECONDS)
        self._relay.cancel()
        return exit_code

    async def stop(self, grace_seconds: float) -> int:
        """SIGTERM, and SIGKILL when it is still there after `grace_seconds`. Returns the exit code."""
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), grace_seconds)
        self.kill()
        return await self.wait()

    def kill(self) -> None:
        """SIGKILL for the process and whatever it started, now."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _relay_output(self, on_line: Callable[[str], None]) -> None:
        pending = b""
        while chunk := await self._process.stdout.read(RELAY_BYTES):
            *lines, pending = (pending + chunk).split(b"\n")
            if len(pending) > RELAY_BYTES:
                lines, pending = [*lines, pending], b""
            for line in lines:
                on_line(line.decode(errors="replace").rstrip("\r"))
        if pending:
            on_line(pending.decode(errors="replace"))
