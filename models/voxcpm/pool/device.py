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
from itertools import count
from queue import SimpleQueue
from typing import Any

from engine.errors import DeviceLostError, EngineError, RequestError
from engine.loop import CLOSED
from engine.output_stream import Command, OutputStream, Reader, wake_or_cancel
from engine.parallel.channel import MOST_BYTES, ChannelClosedError, Message, Number
from engine.parallel.process import how_it_ended, start_process
from models.speech import SpeechOutput
from models.voxcpm.pool.wire import Kind, Record, error_of, pack, unpack

logger = logging.getLogger(__name__)

END_SECONDS = 2.0
"""For a process to leave by itself."""
OnProgress = Callable[["DeviceProcess", str, float], None]


class DeviceProcess:
    """See the module. Once its process has ended, `lost` says why, and all that it had to do has failed."""

    def __init__(self, device: str, alike: str, on_progress: OnProgress) -> None:
        """Starts the process. alike: what tells it from another one on this device. Raises OSError."""
        self.device, self.name, self.lost = device, device + alike, False
        self._on_progress = on_progress
        self._lock = threading.RLock()
        self._streams: dict[str, OutputStream] = {}
        self._calls: dict[int, Future[Record]] = {}
        self._numbers = count()
        self._outgoing: SimpleQueue[tuple[int, bytes, bytes] | None] = SimpleQueue()
        self._reason, self._closing = "", False
        self._process, self._channel = start_process("models.voxcpm.pool.child")
        self._threads = [
            threading.Thread(target=run, name=f"pool-{device}", daemon=True)
            for run in (self._send, self._receive)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def load(self) -> tuple[int, int]:
        """Requests that run, and what else it was asked for."""
        return len(self._streams), len(self._calls)

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

    def open(self, request_id: str) -> OutputStream:
        """Of a request that is submitted next: it counts from now on."""
        stream = OutputStream(request_id, self._obey)
        with self._lock:
            if self.lost:
                raise self.error()
            self._streams[request_id] = stream
        return stream

    def drop(self, stream: OutputStream) -> None:
        """Of a request that was refused, or that nobody will read."""
        stream.cancel()
        with self._lock:
            self._streams.pop(stream.request_id, None)

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

    def _obey(self, stream: OutputStream, command: Command) -> None:
        """Takes no lock: garbage collection may call it in the middle of anything."""
        if command is not Command.CANCEL:
            raise EngineError(f"a pool has no {command.value}")
        if self._streams.get(stream.request_id) is stream:
            self._outgoing.put((Kind.CANCEL, *pack([{"request_id": stream.request_id}])))

    def _send(self) -> None:
        try:
            while (message := self._outgoing.get()) is not None:
                self._channel.send(*message)
        except ChannelClosedError:
            return  # which the other thread notices

    def _receive(self) -> None:
        try:
            while True:
                self._take(self._channel.receive())
        except ChannelClosedError:
            self._reason = self._reason or f"its process {how_it_ended(self._process, END_SECONDS)}"
        except Exception as error:
            logger.exception("a message of device %s", self.name)
            self._reason = f"{type(error).__name__}: {error}"
        self._lose()

    def _take(self, message: Message) -> None:
        if message.number == Number.FAILED:
            self._reason = message.json()
        elif message.number == Kind.OUTPUTS:
            wake_or_cancel([reader for record in unpack(message) for reader in self._take_output(record)])
        elif message.number == Kind.RESULT:
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
        stream = self._streams.get(record["request_id"])
        if stream is None:
            return []
        if "ended" in record:
            return self._end(stream, error_of(record["error"]) if record["error"] else None)
        output = SpeechOutput(**record)
        readers = stream.put(output)
        return readers if output.finish_reason is None else readers + self._end(stream)

    def _end(self, stream: OutputStream, error: Exception | None = None) -> list[Reader]:
        with self._lock:
            self._streams.pop(stream.request_id, None)
        return stream.end(error)

    def _lose(self) -> None:
        """Once the process cannot be reached: end it, and fail all that it had to do."""
        self._process.kill()
        if not self._closing:
            logger.error("%s", self.error())
        with self._lock:
            self.lost = True
            calls, self._calls = list(self._calls.values()), {}
            streams = list(self._streams.values())
        self._outgoing.put(None)
        for call in calls:
            call.set_exception(self.error())
        wake_or_cancel([reader for stream in streams for reader in self._end(stream, self.error())])
