"""The thread that owns an engine; other threads and event loops hear from it through streams.

    loop = EngineLoop(engine)
    loop.start()
    stream = loop.submit(request)               # from any thread, never waits for a step
    for output in stream: ...                   # or, inside an event loop: async for output in stream
    loop.close()

Requests, cancellations, pauses and resumptions are handed over in order and take effect between two steps.
While everything is paused the thread sleeps.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable
from weakref import WeakSet

from engine import forks
from engine.errors import EngineError, RequestError
from engine.output_stream import (
    Command,
    OutputStream,
    PauseChange,
    Reader,
    StepOutput,
    wake,
    wake_or_cancel,
)

__all__ = ["EngineLoop", "OutputStream", "PauseChange", "StepOutput", "SteppingEngine"]

logger = logging.getLogger(__name__)

CLOSED = "the engine loop is closed"
EXIT_SECONDS = 10.0
"""For the last step of a program that ends without closing its engines."""
_started: WeakSet[EngineLoop] = WeakSet()


class SteppingEngine(Protocol):
    """What `EngineLoop` drives; everything but `prepare` is called from its thread alone."""

    def prepare(self, request: Any) -> Any:
        """What `add` takes for a request, which has a `request_id`; any thread may call it.

        Raises RequestError for one that cannot be served.
        """

    def add(self, prepared: Any) -> None:
        """Takes up what `prepare` returned; raises RequestError."""

    def cancel(self, request_id: str) -> bool:
        """Drops an unfinished request, paused or not; False when there is none."""

    def pause(self, request_id: str) -> bool:
        """Keeps an unfinished request out of the following steps; False when there is none."""

    def resume(self, request_id: str) -> bool:
        """Undoes `pause`; False when there is no such request."""

    def step(self) -> Sequence[StepOutput]:
        """Advances every request that is not paused; errors of single requests are outputs."""

    def has_unfinished(self) -> bool:
        """Whether `step` has anything to do: some request is not paused."""


@runtime_checkable
class LosableEngine(Protocol):
    """An engine that may be lost while it has nothing to do."""

    def when_lost(self, lost: Callable[[EngineError], object]) -> None:
        """Have `lost` called, from any thread, once the engine can serve no more, even between steps."""


class EngineLoop:
    """Runs an engine in a thread of its own.

    Attributes:
        step_count: steps taken so far; it stands still when the engine hangs.
        error: why the thread died, None while it lives and after `close`.
    """

    def __init__(self, engine: SteppingEngine, name: str = "engine") -> None:
        self.engine = engine
        self.step_count = 0
        self.error: BaseException | None = None
        self._streams: dict[str, OutputStream] = {}
        self._commands: deque[tuple[OutputStream, Any]] = deque()  # with a Command, or what to add
        self._changed = threading.Condition()
        self._closing = False
        self._at_end: Callable[[], object] | None = None
        self._died = False
        self._lost: Exception | None = None
        self._step_began: float | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        forks.watch(self)

    @property
    def alive(self) -> bool:
        """Whether requests are being served."""
        return self._thread.is_alive() and self.error is None and not self._closing

    @property
    def step_seconds(self) -> float:
        """How long the step has taken that is under way; 0 between steps."""
        began = self._step_began
        return 0.0 if began is None else time.monotonic() - began

    def start(self) -> None:
        """Starts the thread; once."""
        if isinstance(self.engine, LosableEngine):
            self.engine.when_lost(self.fail)
        _started.add(self)
        self._thread.start()

    def fail(self, error: Exception) -> None:
        """The engine is lost, also if it has nothing to do; from any thread. Its thread dies of `error`."""
        with self._changed:
            self._lost = error
            self._changed.notify()

    def close(self, limit_seconds: float | None = None) -> bool:
        """Stops after the current step and waits for it; open streams raise EngineError. Twice is a no-op.

        limit_seconds: to wait at most. False when the step goes on.
        """
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.ident is None:
            self._end_all()
        else:
            self._thread.join(limit_seconds)
        return not self._thread.is_alive()

    def leave(self, at_end: Callable[[], object]) -> None:
        """`close` without waiting, so that garbage collection may call it; its thread then calls `at_end`.

        Where that has died, another one does. After `close` nobody does.
        """
        with self._changed:
            has_died = self._died and not self._closing
            self._closing, self._at_end = True, at_end
            self._changed.notify()
        if has_died:
            start_new_thread(at_end, ())

    def forked(self) -> None:
        """See `engine.forks`."""
        self._changed = threading.Condition()
        self.error, self._died = EngineError(forks.FORKED), False
        for stream in self._streams.values():
            stream.forked(self.error)
        self._streams = {}

    def submit(self, request: Any) -> OutputStream:
        """Hands a request over and returns its stream at once; safe from any thread.

        Raises:
            RequestError: the engine's `prepare` refuses it, or its id is in use.
            EngineError: the loop is closed or dead.
        """
        prepared = self.engine.prepare(request)
        stream = OutputStream(request.request_id, self._hand_over)
        with self._changed:
            if self._closing or self.error is not None:
                raise self.end_error()
            if stream.request_id in self._streams:
                raise RequestError(
                    f"request {stream.request_id!r} is being served", "request_id", "duplicate"
                )
            self._streams[stream.request_id] = stream
            self._commands.append((stream, prepared))
            self._changed.notify()
        return stream

    def _hand_over(self, stream: OutputStream, command: Command) -> None:
        with self._changed:
            if self._streams.get(stream.request_id) is stream:
                self._commands.append((stream, command))
                self._changed.notify()

    def _run(self) -> None:
        try:
            while self._take_commands():
                if self.engine.has_unfinished():
                    self._deliver(self._step())
        except BaseException as error:
            logger.exception("the engine loop died")
            with self._changed:
                self.error = error
        self._end_all()
        with self._changed:
            self._died, at_end = not self._closing, self._at_end
        if at_end is not None:
            at_end()

    def _step(self) -> Sequence[StepOutput]:
        self._step_began = time.monotonic()
        try:
            outputs = self.engine.step()
        finally:
            self._step_began = None
        self.step_count += 1
        return outputs

    def _take_commands(self) -> bool:
        """Waits until there is something to do, then applies what was handed over; False when closing."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._commands or self._closing or self._lost or self.engine.has_unfinished()
            )
            if self._closing:
                return False
            if self._lost is not None:
                raise self._lost
            commands, self._commands = self._commands, deque()
        readers: list[Reader] = []
        for stream, command in commands:
            if isinstance(command, Command):
                readers += self._obey(stream, command)
            else:
                readers += self._add(stream, command)
        wake_or_cancel(readers)
        return True

    def _add(self, stream: OutputStream, prepared: Any) -> list[Reader]:
        try:
            self.engine.add(prepared)
        except RequestError as error:
            return self._end(stream, error)
        except Exception as error:
            logger.exception("taking up request %s failed", stream.request_id)
            return self._end(stream, EngineError(f"taking up the request failed: {error!r}"))
        return []

    def _obey(self, stream: OutputStream, command: Command) -> list[Reader]:
        if self._streams.get(stream.request_id) is not stream:
            return []
        if command is Command.CANCEL:
            self.engine.cancel(stream.request_id)
            return self._end(stream)
        paused = command is Command.PAUSE
        obeyed = (self.engine.pause if paused else self.engine.resume)(stream.request_id)
        return stream.put(PauseChange(stream.request_id, paused)) if obeyed else []

    def _deliver(self, outputs: Sequence[StepOutput]) -> None:
        readers: list[Reader] = []
        for output in outputs:
            stream = self._streams.get(output.request_id)
            if stream is None:
                continue
            readers += stream.put(output)
            if output.finish_reason is not None:
                readers += self._end(stream)
        wake_or_cancel(readers)

    def _end(self, stream: OutputStream, error: Exception | None = None) -> list[Reader]:
        with self._changed:
            self._streams.pop(stream.request_id, None)
        return stream.end(error)

    def _end_all(self) -> None:
        error = self.end_error()
        with self._changed:
            streams = list(self._streams.values())
        wake(reader for stream in streams for reader in self._end(stream, error))

    def end_error(self) -> EngineError:
        """What a request is told once it does not serve any more."""
        if self.error is None:
            return EngineError(CLOSED)
        return EngineError(f"the engine loop died: {type(self.error).__name__}: {self.error}")


@atexit.register
def _close_all() -> None:
    """An interpreter that ends in the middle of a step would abort in PyTorch."""
    for loop in list(_started):
        loop.close(EXIT_SECONDS)
