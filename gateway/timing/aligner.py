"""Who listens to speech and tells when its words were said, in a process of its own.

    aligner = open_aligner("auto")                    # None: there is none
    heard = await aligner.align(pcm, 24000, pieces(spoken), "en")
    await aligner.close()

The process is started by the first question, has one thread and yields to all others. It answers one question
after the other. A bounded number of them waits; whoever asks beyond that, or waits too long, is refused, and
makes do with an estimate.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import structlog

from gateway.settings.listening import REPOSITORY
from gateway.timing.alignment import Heard
from gateway.timing.whisper import AlignerMissingError, find_model

logger = structlog.get_logger(__name__)

_MOST_WAITING = 32
_PATIENCE_SECONDS = 8.0
"""For an answer, the wait for others' included."""
_ANSWER_SECONDS = 30.0
"""For one answer, and the model's start: then the process hangs."""
_REST_SECONDS = 30.0
"""After the process has failed, before it is started again."""
_ANSWER_BYTES = 1 << 20
_REASON_CHARACTERS = 200
_ENVIRONMENT = ("PATH", "HOME", "LANG", "PYTHONPATH", "LD_LIBRARY_PATH")


class AlignmentError(Exception):
    """There are no times: nobody had time, or the audio or its text is nothing for the model."""


class Aligner(Protocol):
    """A model that listens to speech."""

    @property
    def busy(self) -> bool:
        """Whether who asks now has to wait for others."""

    async def align(self, pcm: bytes, sample_rate: int, pieces: Sequence[str], language: str) -> Heard:
        """When each of `pieces` is said, which together are what is said in s16le mono samples.

        language: ISO 639. Raises AlignmentError.
        """

    async def close(self) -> None:
        """Close; nothing is aligned any more."""


@dataclass(frozen=True)
class _Question:
    head: bytes
    pcm: bytes = field(repr=False)
    answer: asyncio.Future[Heard]

    def take(self, answer: Heard | str) -> None:
        """What was heard, or why nothing was; whoever asked may not wait any more."""
        if isinstance(answer, str):
            self.refuse(answer)
        elif not self.answer.done():
            self.answer.set_result(answer)

    def refuse(self, reason: str) -> None:
        """There will be no answer."""
        if not self.answer.done():
            self.answer.set_exception(AlignmentError(reason))


class AlignerProcess:
    """The one that runs `gateway.timing.child`, which loads a Whisper model."""

    def __init__(self, folder: Path, *, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._command = (sys.executable, "-P", "-m", "gateway.timing.child", str(folder))
        self._patience_seconds = patience_seconds
        self._waiting: asyncio.Queue[_Question] = asyncio.Queue(_MOST_WAITING)
        self._asking: asyncio.Task[None] | None = None
        self._process: Process | None = None
        self._rests_until = 0.0
        self._at_work = False

    @property
    def busy(self) -> bool:
        """See `Aligner`."""
        return self._at_work or not self._waiting.empty()

    async def align(self, pcm: bytes, sample_rate: int, pieces: Sequence[str], language: str) -> Heard:
        """See `Aligner`."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._rests_until:
            raise AlignmentError("the aligner has failed a moment ago")
        head = {"rate": sample_rate, "bytes": len(pcm), "pieces": list(pieces), "language": language}
        question = _Question(json.dumps(head).encode() + b"\n", pcm, loop.create_future())
        try:
            self._waiting.put_nowait(question)
        except asyncio.QueueFull:
            raise AlignmentError("too many wait for the aligner") from None
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask_all())
        try:
            async with asyncio.timeout(self._patience_seconds):
                return await question.answer
        except TimeoutError:
            raise AlignmentError("the aligner is behind") from None

    async def close(self) -> None:
        """See `Aligner`."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
            self._asking = None
        self._refuse_all("the gateway ends")
        await self._end_process()

    async def _ask_all(self) -> None:
        while True:
            question = await self._waiting.get()
            if question.answer.done():  # whoever asked does not wait any more
                continue
            try:
                self._at_work = True
                async with asyncio.timeout(_ANSWER_SECONDS):
                    answer = await self._ask(question)
            except (OSError, EOFError, ValueError, TimeoutError) as error:
                await self._failed(question, error)
            except asyncio.CancelledError:
                question.refuse("the gateway ends")
                raise
            else:
                question.take(answer)
            finally:
                self._at_work = False

    async def _ask(self, question: _Question) -> Heard | str:
        if self._process is None:
            self._process = await self._start_process()
        self._process.stdin.write(question.head + question.pcm)
        await self._process.stdin.drain()
        line = await self._process.stdout.readline()
        if not line:
            raise EOFError("the process of the aligner has ended")
        return _understand(json.loads(line))

    async def _start_process(self) -> Process:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        path = os.pathsep.join(filter(None, (str(REPOSITORY), environment.get("PYTHONPATH"))))
        environment |= {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        return await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, limit=_ANSWER_BYTES,
            start_new_session=True,
        )  # fmt: skip

    async def _failed(self, question: _Question, error: Exception) -> None:
        logger.warning("the aligner failed, times are estimated", cause=type(error).__name__)
        self._rests_until = asyncio.get_running_loop().time() + _REST_SECONDS
        question.refuse("the aligner has failed")
        self._refuse_all("the aligner has failed")
        await self._end_process()

    def _refuse_all(self, reason: str) -> None:
        while not self._waiting.empty():
            self._waiting.get_nowait().refuse(reason)

    async def _end_process(self) -> None:
        if (process := self._process) is not None:
            process.stdin.close()
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()  # to the end of its output, which closes all pipes
            self._process = None


def _understand(answer: dict[str, Any]) -> Heard | str:
    if "error" in answer:
        return str(answer["error"])[:_REASON_CHARACTERS]
    return Heard([(float(start), float(end)) for start, end in answer["words"]], float(answer["confidence"]))


def open_aligner(name: str) -> AlignerProcess | None:
    """The aligner that is meant by the setting `aligner`. None: off, or "auto" and not installed.

    Raises AlignerMissingError for one that is named and not there.
    """
    if name == "off":
        return None
    try:
        return AlignerProcess(find_model(name))
    except AlignerMissingError:
        if name == "auto":
            return None
        raise
