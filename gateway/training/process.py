"""The process of one training: `voxfleet finetune`, which yields the CPUs to others.

It ends with the gateway, however that ends: its standard input is a pipe of ours, at whose end it stops after
the step under way (`voxfleet/processes/parent_watch.py`). Until then it holds the lock of the folder, which
it has inherited, so no other gateway begins too early.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from gateway.files.plain_files import descriptor_of
from gateway.finishing import to_its_end
from gateway.settings import GatewaySettings
from gateway.settings.listening import REPOSITORY
from gateway.training.files import NAME, TrainingFiles

_GRACE_SECONDS = 5.0
"""To write the state down, from which a later process goes on."""
_SECRETS = "VOXFLEET_"
_VISIBLE = "CUDA_VISIBLE_DEVICES"


def command_of(files: TrainingFiles, settings: GatewaySettings, steps: int) -> list[str]:
    """The command that is run."""
    options = {
        "--name": NAME,
        "--out": str(files.run),
        "--base": absolute(str(settings.training_base)),
        "--steps": str(steps),
        "--device": settings.training_device.partition(":")[0],
        "--niceness": str(settings.training_niceness),
    }
    words = [word for option in options.items() for word in option]
    command = [sys.executable, "-P", "-m", "voxfleet.processes.parent_watch", "finetune"]
    return [*command, str(files.folder), *words]


def absolute(base: str) -> str:
    """A directory as it is found from anywhere; "bundled" and ids of repositories stay."""
    is_folder = base != "bundled" and Path(base).is_dir()
    return str(Path(base).absolute()) if is_folder else base


def environment_of(ours: Mapping[str, str], device: str) -> dict[str, str]:
    """Ours without our settings, some of which are secrets; on a GPU with a number, that one alone."""
    environment = {name: value for name, value in ours.items() if not name.startswith(_SECRETS)}
    path = os.pathsep.join(filter(None, (str(REPOSITORY), environment.get("PYTHONPATH"))))
    environment |= {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    if (number := device.partition(":")[2]) and int(number) >= 0:
        visible = [name for name in environment.get(_VISIBLE, "").split(",") if name]
        environment[_VISIBLE] = visible[int(number)] if int(number) < len(visible) else number
    return environment


class TrainingProcess:
    """One that runs; made by `start`, ended by `end`."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, files: TrainingFiles, settings: GatewaySettings, steps: int) -> Self:
        """Raises OSError, and ValueError where the folder is not locked."""
        device = settings.training_device
        command = command_of(files, settings, steps)
        log = await asyncio.to_thread(_open_log, files.log)
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=DEVNULL, stderr=log, pass_fds=(files.lock_descriptor,),
                env=environment_of(os.environ, device), cwd="/", start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(log)
        return cls(process)

    async def ended(self, seconds: float) -> int | None:
        """Its exit status; None when it still runs after so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._process.wait()
        return None

    async def end(self) -> None:
        """Have it stop, and kill it and whatever it started when that takes too long.

        It has ended when this returns, also when the caller is cancelled meanwhile.
        """
        await to_its_end(self._end())

    async def _end(self) -> None:
        process = self._process
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await self.ended(_GRACE_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdin.close()
        await process.wait()


def _open_log(path: Path) -> int:
    return descriptor_of(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
