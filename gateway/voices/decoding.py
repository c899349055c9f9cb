"""Uploads to samples, each in a child process of its own (`decoder/`), a few at a time.

The child has nothing: no environment, no descriptor but its own two, limits on memory and time, and on Linux
no system call with which it could reach files, sockets or processes. What it says is a code out of a table
and numbers that are checked. It is killed with its whole group when it takes too long, says too much, or
nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import structlog

from gateway.errors import ApiError
from gateway.voices.decoder import sandbox

logger = structlog.get_logger(__name__)

MAX_SECONDS = 60.0
MAX_CHILDREN = 2
MAX_WAITING = 16
_WALL_SECONDS = 15.0
_HEAD_BYTES = 1024
_HIGHEST_RATE = 48_000
_PROGRAM = Path(__file__).with_name("decoder")
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1"}

_REFUSALS = {
    "audio_format": "the file is none of wav, flac, mp3, ogg, webm or m4a: send one of these",
    "audio_unreadable": "the file cannot be read as audio: it is damaged or empty",
    "audio_rate": "audio needs 8000 samples per second or more, and at most 8 channels",
    "audio_too_long": f"the audio is longer than {MAX_SECONDS:g} s: cut it, 5 to 15 s are best",
}


@dataclass(frozen=True)
class Recording:
    """Mono audio."""

    samples: np.ndarray
    """int16 [n]."""
    sample_rate: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return len(self.samples) / self.sample_rate


def warn_if_unconfined() -> None:
    """Say in the log what this machine does not do about a decoder that is taken over."""
    if reason := sandbox.unsupported():
        logger.warning("the decoder of uploads has limits but no sandbox", reason=reason)


class Decoder:
    """Starts the children. `decode` waits for its turn."""

    def __init__(self, max_children: int = MAX_CHILDREN, wall_seconds: float = _WALL_SECONDS) -> None:
        self._turns = asyncio.Semaphore(max_children)
        self._wall_seconds = wall_seconds
        self._waiting = 0

    async def decode(self, file: int) -> Recording:
        """The audio of an open file, read from its start.

        Raises ApiError: 422 (param "audio") for what is no audio or too much of it, 503 when too many wait
        or the child could not be confined.
        """
        if self._waiting >= MAX_WAITING:
            raise ApiError(503, "uploads_busy", "too many uploads are being looked at", retry_after_seconds=5)
        self._waiting += 1
        try:
            async with self._turns:
                return _understand(await self._run(file))
        finally:
            self._waiting -= 1

    async def _run(self, file: int) -> bytes:
        """What the child says; empty when it died or was killed. Raises ApiError 503."""
        await asyncio.to_thread(os.lseek, file, 0, os.SEEK_SET)
        async with _own_pipe() as (reader, output):
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-I", str(_PROGRAM), str(MAX_SECONDS),
                stdin=file, stdout=output, stderr=DEVNULL, cwd="/", env=_ENVIRONMENT, start_new_session=True,
            )  # fmt: skip
            output.close()
            try:
                async with asyncio.timeout(self._wall_seconds):
                    said = await _read_all(reader, _HEAD_BYTES + 2 * int(MAX_SECONDS * _HIGHEST_RATE))
                    status = await child.wait()
            except TimeoutError:
                return b""
            finally:
                await _end(child)
        if status == sandbox.NOT_CONFINED:
            logger.error("the decoder of uploads cannot be confined, so it decodes nothing")
            raise ApiError(503, "decoder_not_confined", "this service cannot decode uploads safely just now")
        return said if status == 0 else b""


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


def _understand(said: bytes) -> Recording:
    """The child's words, as far as they make sense. Raises ApiError 422."""
    line, _, pcm = said.partition(b"\n")
    try:
        facts = json.loads(line)
        code = facts.get("refused")
        rate, count = facts.get("sample_rate", 0), facts.get("samples", 0)
    except (ValueError, AttributeError):
        raise _refusal("audio_unreadable") from None
    if code in _REFUSALS:
        raise _refusal(code)
    if not isinstance(rate, int) or not 8_000 <= rate <= _HIGHEST_RATE or not count or len(pcm) != 2 * count:
        raise _refusal("audio_unreadable")
    return Recording(np.frombuffer(pcm, "<i2"), rate)


def _refusal(code: str) -> ApiError:
    return ApiError(422, code, _REFUSALS[code], param="audio")
