"""The inside of a device's process: an engine as any other, and a loop that sends what its streams bring."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import torch

from engine.loop import EngineLoop, SteppingEngine
from engine.output_stream import OutputStream
from engine.parallel.channel import ChannelClosedError
from engine.parallel.follower import Follower
from models.pool.wire import Kind, Record, error_record, pack, unpack

MOST_OUTPUTS = 1024
"""In a message. There are more than a step's where the pool was not read for long."""
STEP_SECONDS = 120.0
"""A GPU that takes longer for a step hangs."""
LOOK_SECONDS = 1.0
"""Between two looks at whether it does."""


class Serving(ABC):
    """Takes calls one after the other; what takes long has threads of its own."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._engine: SteppingEngine
        self._loop: EngineLoop
        self._device = "cpu"
        self._streams: dict[str, OutputStream] = {}
        self._kept: dict[int, Any] = {}
        """By what the pool calls it, until it says that nobody holds it."""
        self._outbox = _Outbox(follower)
        self._calls: dict[str, Callable[..., Record]] = {"load": self._load, "submit": self._submit}
        self._beside: dict[str, Executor] = {}
        """Whose thread answers a call that takes long."""

    @abstractmethod
    def load_engine(self, progress: Callable[[str, float], None], options: Record) -> tuple[Any, Record]:
        """The engine, and what is told of its model."""

    @abstractmethod
    def request(self, fields: dict[str, Any]) -> Any:
        """As the engine takes it."""

    @abstractmethod
    def output(self, output: Any) -> Record:
        """As it crosses."""

    def threads(self, count: int, name: str) -> Executor:
        """For calls that are answered beside the others."""
        return ThreadPoolExecutor(count, name, initializer=self._choose_device)

    def run(self) -> None:
        """Until the pool ends it."""
        for message in self._follower.messages():
            for record in unpack(message):
                if message.number == Kind.CALL:
                    self._take_call(**record)
                elif message.number == Kind.FORGET:
                    self._kept.pop(record["key"], None)
                elif (stream := self._streams.get(record["request_id"])) is not None:
                    stream.cancel()

    def _take_call(self, call: int, what: str, **fields: Any) -> None:
        if what in self._beside:
            self._beside[what].submit(self._answer, call, what, fields)
        else:
            self._answer(call, what, fields)

    def _answer(self, call: int, what: str, fields: dict[str, Any]) -> None:
        try:
            result = self._calls[what](**fields)
        except Exception as error:
            result = {"error": error_record(error)}
        self._follower.send(Kind.RESULT, *pack([{"call": call, **result}]))

    def _load(self, threads: int | None, options: Record) -> Record:
        """threads: of this process, on a CPU."""

        def progress(stage: str, share: float) -> None:
            self._follower.send(Kind.PROGRESS, *pack([{"stage": stage, "share": share}]))

        if threads is not None:
            torch.set_num_threads(threads)
        self._device = options["device"]
        self._choose_device()
        self._engine, info = self.load_engine(progress, options)
        self._loop = EngineLoop(self._engine)
        self._loop.start()
        if self._device != "cpu":
            threading.Thread(target=self._watch, name="watch", daemon=True).start()
        return {"info": info}

    def _choose_device(self) -> None:
        """In each thread: one that has not chosen takes half a GiB of the first GPU for nothing."""
        if self._device != "cpu":
            torch.cuda.set_device(self._device)

    def _submit(self, **fields: Any) -> Record:
        request = self.request(fields)
        try:
            stream = self._loop.submit(request)
        finally:
            self._end_where_lost()
        self._streams[request.request_id] = stream
        self._outbox.run(self._forward(stream))
        return {}

    async def _forward(self, stream: OutputStream) -> None:
        """What the stream brings, and that it has ended."""
        error = None
        try:
            await stream.each(lambda output: self._outbox.put(self.output(output)))
        except Exception as raised:
            self._end_where_lost()
            error = error_record(raised)
        del self._streams[stream.request_id]
        self._outbox.put({"request_id": stream.request_id, "ended": True, "error": error})

    def _end_where_lost(self) -> None:
        """An engine that is lost computes no more in this process."""
        if self._loop.error is not None:
            self._fail(str(self._loop.end_error()))

    def _watch(self) -> None:
        while self._loop.step_seconds <= STEP_SECONDS:
            time.sleep(LOOK_SECONDS)
        self._fail(f"it hangs: a step has taken more than {STEP_SECONDS:g} s")

    def _fail(self, reason: str) -> None:
        """End this process, whatever its threads wait for."""
        self._follower.fail(reason)
        os._exit(1)


class _Outbox:
    """An event loop in a thread of its own, which reads all streams and sends what a step brought at once."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._records: list[Record] = []
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="outbox", daemon=True).start()

    def run(self, reading: Any) -> None:
        """Have this coroutine run there; from any thread."""
        asyncio.run_coroutine_threadsafe(reading, self._loop)

    def put(self, record: Record) -> None:
        """To be called in the event loop; sent once those that it has woken have run."""
        self._records.append(record)
        if len(self._records) == 1:
            self._loop.call_soon(self._send)
        elif len(self._records) == MOST_OUTPUTS:
            self._send()

    def _send(self) -> None:
        records, self._records = self._records, []
        if records:
            with suppress(ChannelClosedError):  # the follower's beat notices, too, and ends the process
                self._follower.send(Kind.OUTPUTS, *pack(records))
