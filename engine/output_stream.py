"""The outputs of one request on their way from the engine's thread to its one reader.

The reader is a thread (`for output in stream`), a task of an event loop (`async for output in stream`), or a
function that the event loop calls (`await stream.each(take)`), which spares a task switch for every output.
Whoever has to wait in an event loop leaves a `Reader` behind; the engine's thread collects those of a whole
step and wakes each event loop once.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Protocol

logger = logging.getLogger(__name__)


class StepOutput(Protocol):
    """One piece of one request; `finish_reason` is None until the last."""

    request_id: str
    finish_reason: str | None


@dataclass(frozen=True)
class PauseChange:
    """Comes among the outputs where a `pause` or `resume` of the stream took effect."""

    request_id: str
    paused: bool
    finish_reason: None = None


class Command(Enum):
    """What a reader may ask of the engine."""

    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"


@dataclass(frozen=True)
class Reader:
    """Who waits: in which event loop, what to call there, and for which stream."""

    event_loop: asyncio.AbstractEventLoop
    go_on: Callable[[], None]
    stream: OutputStream


class OutputStream:
    """Outputs of one request, in order, for one reader.

    Iteration ends after the output with a finish reason, or, after `cancel`, once the request has left the
    engine. It raises RequestError when the engine refuses the request, EngineError when the request cannot be
    taken up, or when the loop dies or is closed.

    Args:
        request_id: of the request.
        on_command: called with the stream and the command by every `cancel`, `pause` and `resume`.
    """

    def __init__(self, request_id: str, on_command: Callable[[OutputStream, Command], None]) -> None:
        self.request_id = request_id
        self.cancelled = False
        self._on_command = on_command
        self._changed = threading.Condition()
        self._outputs: deque[StepOutput] = deque()
        self._ended = False
        self._error: Exception | None = None
        self._reader: Reader | None = None

    def cancel(self) -> None:
        """Asks for the request to be dropped at the next step boundary; safe from any thread, at any time."""
        self.cancelled = True
        self._on_command(self, Command.CANCEL)

    def pause(self) -> None:
        """Asks for no more outputs until `resume`; a `PauseChange` after the last one says that it is so."""
        self._on_command(self, Command.PAUSE)

    def resume(self) -> None:
        """Undoes `pause`; a `PauseChange` comes before the next output."""
        self._on_command(self, Command.RESUME)

    def __iter__(self) -> Iterator[StepOutput]:
        return self

    def __next__(self) -> StepOutput:
        with self._changed:
            self._changed.wait_for(self._ready)
            return self._pop(StopIteration)

    def __aiter__(self) -> AsyncIterator[StepOutput]:
        return self

    async def __anext__(self) -> StepOutput:
        event_loop = asyncio.get_running_loop()
        while True:
            woken = event_loop.create_future()
            reader = Reader(event_loop, partial(_resolve, woken), self)
            output = self.take_or_wait(reader)
            if output is not None:
                return output
            try:
                await woken
            except BaseException:  # so that nobody wakes an event loop that has gone by then
                with self._changed:
                    if self._reader is reader:
                        self._reader = None
                raise

    async def each(self, take: Callable[[StepOutput], None]) -> None:
        """Calls `take` in this event loop with every output as soon as it is there; returns after the last.

        Raises what iteration would, and what `take` raises; the outputs after that wait for another reader.
        """
        taker = _Taker(self, take)
        try:
            taker.go_on()
            await taker.ended
        finally:
            with self._changed:
                self._reader = None

    def take_or_wait(self, reader: Reader) -> StepOutput | None:
        """The next output; None where there is none yet, and `reader` is left behind. Raises at the end."""
        with self._changed:
            if self._ready():
                return self._pop(StopAsyncIteration)
            self._reader = reader
            return None

    def _ready(self) -> bool:
        return bool(self._outputs) or self._ended

    def _pop(self, end: type[Exception]) -> StepOutput:
        if self._outputs:
            return self._outputs.popleft()
        raise self._error or end

    def put(self, output: StepOutput) -> list[Reader]:
        """Appends an output; returns who has to be woken for it, if anybody waits."""
        with self._changed:
            self._outputs.append(output)
            return self._take_reader()

    def end(self, error: Exception | None = None) -> list[Reader]:
        """Lets the reader stop, or fail with `error`, after what it has not read yet; see `put`."""
        with self._changed:
            self._ended, self._error = True, error
            return self._take_reader()

    def forked(self, error: Exception) -> None:
        """`end` in a fork of this process, see `engine.forks`."""
        self._changed = threading.Condition()
        self._ended, self._error, self._reader = True, error, None

    def _take_reader(self) -> list[Reader]:
        self._changed.notify_all()
        reader, self._reader = self._reader, None
        return [] if reader is None else [reader]


class _Taker:
    """Hands the outputs of a stream to a function until they end or it fails."""

    def __init__(self, stream: OutputStream, take: Callable[[StepOutput], None]) -> None:
        event_loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = event_loop.create_future()
        self._stream, self._take = stream, take
        self._event_loop = event_loop

    def go_on(self) -> None:
        """Take what there is. After the end, which a cancellation is too, nothing."""
        reader = Reader(self._event_loop, self.go_on, self._stream)
        try:
            while not self.ended.done() and (output := self._stream.take_or_wait(reader)) is not None:
                self._take(output)
        except StopAsyncIteration:
            self.ended.set_result(None)
        except Exception as error:
            self.ended.set_exception(error)


def wake(readers: Iterable[Reader]) -> list[OutputStream]:
    """Wakes who waits with one call per event loop; returns the streams whose event loop is closed."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Reader]] = {}
    for reader in readers:
        by_loop.setdefault(reader.event_loop, []).append(reader)
    abandoned: list[OutputStream] = []
    for event_loop, group in by_loop.items():
        try:
            event_loop.call_soon_threadsafe(_go_on, [reader.go_on for reader in group])
        except RuntimeError:
            abandoned += [reader.stream for reader in group]
    return abandoned


def wake_or_cancel(readers: Iterable[Reader]) -> None:
    """`wake`, and nobody reads the streams of closed event loops any more."""
    for stream in wake(readers):
        logger.warning("request %s is read by a closed event loop, cancelling it", stream.request_id)
        stream.cancel()


def _go_on(readers: list[Callable[[], None]]) -> None:
    for go_on in readers:
        try:
            go_on()
        except Exception as error:
            context = {"message": "a reader of engine outputs failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
