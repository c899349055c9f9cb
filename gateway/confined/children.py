"""Starts the children that read uploads.

    children = Children(folder_of_a_reader, processor_seconds=10, wall_seconds=15, most_bytes=1 << 20)
    said = await children.read(file, "60")

A child has nothing: no environment, no descriptor but its own two, limits on memory and time, and on Linux
no system call with which it could reach files, sockets or processes. It is killed with its whole group when
it takes too long, says too much, or nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import structlog

from gateway.confined.program import sandbox
from gateway.errors import ApiError

logger = structlog.get_logger(__name__)

MAX_CHILDREN = 2
MAX_WAITING = 16
_PROGRAM = Path(__file__).with_name("program")
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1"}


def warn_if_unconfined() -> None:
    """Say in the log what this machine does not do about a reader that is taken over."""
    if reason := sandbox.unsupported():
        logger.warning("the readers of uploads have limits but no sandbox", reason=reason)


def command(reader: Path, processor_seconds: int, *arguments: str) -> list[str]:
    """The command that starts a child."""
    return [sys.executable, "-I", str(_PROGRAM), str(reader), str(processor_seconds), *arguments]


class Children:
    """Runs one reader, a folder with a module `reader`, in child processes."""

    def __init__(self, reader: Path, *, processor_seconds: int, wall_seconds: float, most_bytes: int) -> None:
        self._reader = reader
        self._processor_seconds = processor_seconds
        self._wall_seconds = wall_seconds
        self._most_bytes = most_bytes
        self._turns = asyncio.Semaphore(MAX_CHILDREN)
        self._waiting = 0

    async def read(self, file: int, *arguments: str) -> bytes:
        """What a child says of an open file, which it reads from the start; `arguments` are the reader's.

        Nothing where the child died, was killed or said more than `most_bytes`. Raises ApiError 503 when
        too many wait, the machine starts no more processes, or the child could not be confined.
        """
        if self._waiting >= MAX_WAITING:
            raise _busy("too many uploads are being looked at")
        self._waiting += 1
        try:
            async with self._turns:
                return await self._run(file, command(self._reader, self._processor_seconds, *arguments))
        finally:
            self._waiting -= 1

    async def _run(self, file: int, command: list[str]) -> bytes:
        await asyncio.to_thread(os.lseek, file, 0, os.SEEK_SET)
        async with _own_pipe() as (reader, output):
            try:
                child = await asyncio.create_subprocess_exec(
                    *command, stdin=file, stdout=output, stderr=DEVNULL, cwd="/", env=_ENVIRONMENT,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                logger.error("no process for a reader of uploads", reason=str(error))
                raise _busy("no upload can be looked at just now") from error
            output.close()
            try:
                async with asyncio.timeout(self._wall_seconds):
                    said = await _read_all(reader, self._most_bytes)
                    status = await child.wait()
            except TimeoutError:
                return b""
            finally:
                await _end(child)
        if status == sandbox.NOT_CONFINED:
            logger.error("the readers of uploads cannot be confined, so they read nothing")
            raise ApiError(503, "decoder_not_confined", "this service cannot read uploads safely just now")
        return said if status == 0 else b""


def _busy(message: str) -> ApiError:
    return ApiError(503, "uploads_busy", message, retry_after_seconds=5)


@asynccontextmanager
async def _own_pipe() -> AsyncIterator[tuple[asyncio.StreamReader, IO[bytes]]]:
    """A pipe to a child. With asyncio's own, waiting for a child is waiting for all that hold its output."""
    end, other_end = os.pipe()
    reader = asyncio.StreamReader()
    source = os.fdopen(end, "rb", 0)
    with os.fdopen(other_end, "wb", 0) as output:
        loop = asyncio.get_running_loop()  # whose transport closes the source
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
        try:
            yield reader, output
        finally:
            transport.close()


async def _read_all(reader: asyncio.StreamReader, limit: int) -> bytes:
    """What the child says, or nothing when that is longer than it can be."""
    said = bytearray()
    while piece := await reader.read(1 << 16):
        said += piece
        if len(said) > limit:
            return b""
    return bytes(said)


async def _end(child: Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
