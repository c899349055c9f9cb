"""One run of one child: started in its own process group, its output relayed line by line, ended without
orphans.

The child's standard input is a pipe that only this process holds open, see `parent_watch.py`. Its own
process group keeps a Ctrl-C of the terminal away from it (the supervisor decides the order in which children
end) and lets one SIGKILL reach whatever it started itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

_ROOT = Path(__file__).resolve().parents[2]
RELAY_BYTES = 65536
RELAY_DRAIN_SECONDS = 1.0
"""How long the output of an ended process is waited for; only something that left its group can hold it open.
"""


def voxfleet_command(name: str, **options: object) -> list[str]:
    """The command line of `voxfleet NAME --option value ...` as a supervised child of this process.

    An option that is None is left out.
    """
    given = [(f"--{option}", str(value)) for option, value in options.items() if value is not None]
    words = [word for pair in given for word in pair]
    return [sys.executable, "-P", "-m", "voxfleet.processes.parent_watch", name, *words]


def safe_path() -> dict[str, str]:
    """Environment in which Python and its children import nothing from the folder they are started in.

    Where this program runs from its repository without being installed, its folder is named instead.
    """
    named = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    if str(_ROOT) not in (*named, sysconfig.get_path("purelib")):
        named.append(str(_ROOT))
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(named)}


class ChildProcess:
    """A started process; make one with `await ChildProcess.start(...)`."""

    def __init__(
        self, process: asyncio.subprocess.Process, lifeline: int, output: int, on_line: Callable[[str], None]
    ) -> None:
        """Takes over two descriptors: the write end of the child's input and the read end of its output."""
        self._process = process
        self._lifeline = lifeline
        self._relay = asyncio.create_task(relay_lines(output, on_line))

    @classmethod
    async def start(
        cls, command: Sequence[str], environment: Mapping[str, str], on_line: Callable[[str], None]
    ) -> Self:
        """Starts `command` with `environment` added to this process's own.

        `on_line` gets every line of standard output and error, without its newline. Raises OSError when the
        program cannot be started at all. The pipes are ours and not asyncio's, whose `wait` waits for their
        end, which something the child left behind can delay for ever.
        """
        child_input, lifeline = os.pipe()
        output, child_output = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                env={**os.environ, **safe_path(), "PYTHONUNBUFFERED": "1", **environment},
                stdin=child_input,
                stdout=child_output,
                stderr=asyncio.subprocess.STDOUT,
                process_group=0,
            )
        except BaseException:
            os.close(lifeline)
            os.close(output)
            raise
        finally:
            os.close(child_input)
            os.close(child_output)
        return cls(process, lifeline, output, on_line)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative is the number of the signal that ended it."""
        return self._process.returncode

    async def wait(self) -> int:
        """Waits for the end, takes leftovers of its process group with it, and returns the exit code.

        To be awaited once: it also gives the pipes back.
        """
        exit_code = await self._process.wait()
        self.kill()
        await asyncio.wait({self._relay}, timeout=RELAY_DRAIN_SECONDS)
        self._relay.cancel()
        os.close(self._lifeline)
        return exit_code

    async def terminate(self, grace_seconds: float) -> None:
        """SIGTERM, and SIGKILL when it is still there after `grace_seconds`. `wait` has the exit code."""
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), grace_seconds)
        self.kill()

    def kill(self) -> None:
        """SIGKILL for the process and whatever it started, now."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


async def relay_lines(descriptor: int, on_line: Callable[[str], None]) -> None:
    """Reads a pipe line by line to its end and closes it. A line over `RELAY_BYTES` comes in pieces."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    try:
        pending = b""
        while chunk := await reader.read(RELAY_BYTES):
            *lines, pending = (pending + chunk).split(b"\n")
            if len(pending) > RELAY_BYTES:
                lines, pending = [*lines, pending], b""
            for line in lines:
                on_line(line.decode(errors="replace").rstrip("\r"))
        if pending:
            on_line(pending.decode(errors="replace"))
    finally:
        transport.close()
