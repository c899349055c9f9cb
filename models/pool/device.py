"""The process of one device, from outside: calls go in, results and the outputs of requests come back.

Two threads belong to it. One sends, so that nobody waits for a socket, least of all a stream that is
cancelled while its memory is freed; the other one receives.
"""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from itertools import count
from queue import SimpleQueue
from typing import Any

from engine.errors import DeviceLostError, EngineError, RequestError
from engine.forks import FORKED
from engine.loop import CLOSED
from engine.output_stream import Reader, wake_or_cancel
from engine.parallel.channel import MOST_BYTES, ChannelClosedError, Message, Number
from engine.parallel.process import how_it_ended, start_process
from models.pool.request import PooledRequest
from models.pool.wire import Kind, Record, error_of, pack, unpack

logger = logging.getLogger(__name__)

END_SECONDS = 2.0
"""For a process to leave by itself."""
SILENT_SECONDS, SILENT_START_SECONDS = 60.0, 600.0
"""Without a sign of life, of which there are four a second, a process hangs; while it loads libraries
from a slow disk it may have none for longer."""
OnProgress = Callable[["DeviceProcess", str, float], None]
OnLost = Callable[[list[PooledRequest], EngineError], object]
"""Called with the requests that it had, and why it is lost."""


class DeviceProcess:
    """See the module. Once its process has ended it is `lost`, and all calls have failed; its requests are
    handed to who wanted to know, see `when_lost`."""

    def __init__(self, device: str, alike: str, child: str, on_progress: OnProgress) -> None:
        """Starts the process. alike: what tells it from another one on this device. child: the module that it
        runs. Raises OSError."""
        self.device, self.name, self.lost = device, device + alike, False
        self._on_progress = on_progress
        self._lock = threading.RLock()
        self._requests: dict[str, PooledRequest] = {}
        self._on_lost: OnLost | None = None
        self._calls: dict[int, Future[Record]] = {}
        self._numbers = count()
        self._outgoing: SimpleQueue[tuple[int, bytes, bytes] | None] = SimpleQueue()
        self._reason, self._closing = "", False
        self._silent_seconds = SILENT_START_SECONDS
        self._process, self._channel = start_process(child)
        self._threads = [
            threading.Thread(target=run, name=f"pool-{device}", daemon=True)
            for run in (self._send, self._receive)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def load(self) -> tuple[int, int]:
        """Requests that run, and what else it was asked for."""
        return len(self._requests), len(self._calls)

    def when_lost(self, lost: OnLost) -> None:
        """Have `lost` called once the process has ended, from any thread; at once where it has."""
        with self._lock:
            self._on_lost = lost
            is_lost = self.lost
        if is_lost:
            lost([], self.error())

    def call(self, what: str, **fields: Any) -> Future[Record]:
        """Ask for something; the future has the result, or what was raised there. See `serving.py`."""
        future: Future[Record] = Future()
        number = next(self._numbers)
        parts = pack([{"call": number, "what": what, **fields}])
        with self._lock:
            if self.lost:
                future.set_exception(self.error())
            elif max(map(len, parts)) > MOST_BYTES:
                future.set_exception(RequestError(f"more than the {MOST_BYTES} bytes that a device is sent"))
            else:
                self._calls[number] = future
                self._outgoing.put((Kind.CALL, *parts))
        return future

    def submit(self, request: PooledRequest) -> None:
        """Let it speak; the request hears of all that comes of it. Raises DeviceLostError."""
        with self._lock:
            if self.lost:
                raise self.error()
            self._requests[request.request_id] = request
        try:
            call = self.call("submit", **request.fields())
        except BaseException:
            self._forget(request)
            raise
        call.add_done_callback(partial(self._answered, request))

    def cancel(self, request: PooledRequest) -> None:
        """Takes no lock, see `PooledRequest`."""
        if self._requests.get(request.request_id) is request:
            self._outgoing.put((Kind.CANCEL, *pack([{"request_id": request.request_id}])))

    def forget_adapter(self, key: int) -> None:
        """Nobody will ask for it any more. Takes no lock: garbage collection calls it."""
        self._outgoing.put((Kind.FORGET, *pack([{"key": key}])))

    def error(self) -> EngineError:
        """Why it does not serve."""
        if self._closing:
            return EngineError(CLOSED)
        return DeviceLostError(f"device {self.name} is lost: {self._reason}")

    def end(self, at_once: bool = False) -> None:
        """Let the process leave, or kill it; `close` waits for that."""
        self._closing = True
        if at_once:
            self._process.kill()
        self._outgoing.put((Number.END, b"", b""))
        self._outgoing.put(None)

    def close(self) -> None:
        """Wait for the end of the process and of all that it had to do."""
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._channel.hang_up()
        for thread in self._threads:
            thread.join()
        self._channel.close()

    def forked(self) -> None:
        """See `engine.forks`: neither the process nor its channel is touched."""
        for request in self._requests.values():
            request.stream.forked(EngineError(FORKED))
        self._requests = {}
        self._channel.close()

    def _answered(self, request: PooledRequest, call: Future[Record]) -> None:
        """Whether the process has taken it. One that is lost takes its requests along, see `_lose`."""
        if (error := call.exception()) is None:
            request.accept()
        elif not self.lost:
            self._forget(request)
            request.fail(error)

    def _forget(self, request: PooledRequest) -> None:
        with self._lock:
            self._requests.pop(request.request_id, None)

    def _send(self) -> None:
        try:
            while (message := self._outgoing.get()) is not None:
                self._channel.send(*message)
        except ChannelClosedError:
            return  # which the other thread notices

    def _receive(self) -> None:
        try:
            while True:
                self._take(self._next())
        except ChannelClosedError:
            self._reason = self._reason or f"its process {how_it_ended(self._process, END_SECONDS)}"
        except TimeoutError:
            self._reason = f"its process has told nothing for {self._silent_seconds:g} s"
        except Exception as error:
            logger.exception("a message of device %s", self.name)
            self._reason = f"{type(error).__name__}: {error}"
        self._lose()

    def _next(self) -> Message:
        """Raises ChannelClosedError, and TimeoutError where the process hangs."""
        try:
            return self._channel.receive(self._silent_seconds / 2)
        except TimeoutError:  # also of who was stopped itself: only a second time counts
            return self._channel.receive(self._silent_seconds / 2)

    def _take(self, message: Message) -> None:
        if message.number == Number.FAILED:
            self._reason = message.json()
        elif message.number == Kind.OUTPUTS:
            wake_or_cancel([reader for record in unpack(message) for reader in self._take_output(record)])
        elif message.number == Kind.RESULT:
            self._silent_seconds = SILENT_SECONDS
            (record,) = unpack(message)
            future = self._calls.pop(record.pop("call"))
            if "error" in record:
                future.set_exception(error_of(record["error"]))
            else:
                future.set_result(record)
        elif message.number == Kind.PROGRESS:
            (record,) = unpack(message)
            self._on_progress(self, record["stage"], record["share"])

    def _take_output(self, record: dict[str, Any]) -> list[Reader]:
        request = self._requests.get(record["request_id"])
        if request is None:
            return []
        if "ended" in record:
            return self._end(request, error_of(record["error"]) if record["error"] else None)
        readers = request.take(record)
        return readers if record.get("finish_reason") is None else readers + self._end(request)

    def _end(self, request: PooledRequest, error: Exception | None = None) -> list[Reader]:
        self._forget(request)
        return request.stream.end(error)

    def _lose(self) -> None:
        """Once the process cannot be reached: end it, and fail all calls."""
        self._process.kill()
        if not self._closing:
            logger.error("%s", self.error())
        with self._lock:
            self.lost = True
            calls, self._calls = list(self._calls.values()), {}
            requests, self._requests = list(self._requests.values()), {}
            lost = self._on_lost
        self._outgoing.put(None)
        for call in calls:
            call.set_exception(self.error())
        if lost is not None:
            lost(requests, self.error())
