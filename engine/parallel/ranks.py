"""Rank 0's side: starts the other ranks as processes, gives them their steps, watches and ends them.

    ranks = Ranks("models.llm.parallel.rank", 2)
    group = lead(ranks, [{...}], device)     # what each is to be, as JSON; see `meeting.py`
    ranks.answers()                          # once each has done as it was told
    with ranks.step(number, first, second):  # what they compute now, and rank 0 inside
        ...
    ranks.close()

A rank that dies, hangs or raises takes all others along: they have a part of every layer. From then on every
call raises DeviceLostError, and `on_lost` is called.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import select
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from engine import forks
from engine.errors import DeviceLostError
from engine.parallel.channel import Array, Channel, ChannelClosedError, Message, Number
from engine.parallel.group import Group, Place
from engine.parallel.process import how_it_ended, start_process
from engine.parallel.watch import BEAT_SECONDS, Pulse, Watch

logger = logging.getLogger(__name__)

END_SECONDS = 1.0
"""For a rank to leave by itself."""


class Ranks:
    """See the module. `module` is what the other ranks run, with a descriptor as its argument; it calls
    `follower.follow`."""

    def __init__(self, module: str, size: int) -> None:
        self._module, self._size = module, size
        self._folder = tempfile.mkdtemp(prefix="voxfleet-ranks-")  # of this user alone
        self.place = Place(0, size, os.path.join(self._folder, "store"), secrets.token_hex(8))
        self.on_lost: list[Callable[[DeviceLostError], object]] = []
        """Called once, from any thread, when a rank is lost."""
        self._processes: list[subprocess.Popen] = []
        self._channels: list[Channel] = []
        self._answers: list[list[Any]] = []
        self._changed = threading.Condition()
        self._losing = threading.Lock()
        self._lost: DeviceLostError | None = None
        self._closing = False
        self._group: Group | None = None
        self._steps, self._in_step = 0, False
        self._watch = Watch(size)
        self._watcher = threading.Thread(target=self._run_watch, name="ranks", daemon=True)
        forks.watch(self)

    def start(self, told: list[dict[str, Any]]) -> None:
        """Start the processes. told: for each, beside its place. Raises OSError, DeviceLostError."""
        for rank, own_told in enumerate(told, start=1):
            process, channel = start_process(self._module)
            self._processes.append(process)
            self._channels.append(channel)
            self._answers.append([])
            place = {**asdict(self.place), "rank": rank, **own_told}
            self._send(rank - 1, lambda channel, place=place: channel.send_json(Number.TELL, place))
        self._watcher.start()

    def joined(self, group: Group) -> None:
        """Rank 0 has met the others in `group`: nobody needs their meeting place any more."""
        self._group = group
        shutil.rmtree(self._folder, ignore_errors=True)

    def tell(self, told: dict[str, Any]) -> None:
        """Tell all others the same, which each will answer. Raises DeviceLostError."""
        self.check()
        for index in range(len(self._channels)):
            self._send(index, lambda channel: channel.send_json(Number.TELL, told))

    def answers(self) -> list[Any]:
        """The next answer of each, once they are there, however long they take. Raises DeviceLostError."""
        with self._changed:
            self._changed.wait_for(lambda: self._lost or all(self._answers))
            if self._lost is not None:
                raise self._lost
            return [answers.pop(0) for answers in self._answers]

    def meet(self, connect: Callable[[], Group]) -> Group:
        """What `connect` returns, which waits for the other ranks. Raises what it raises, and DeviceLostError
        at once when a rank is lost: then nothing ends its wait, so it is in a thread that is left behind.
        """
        met: Future[Group] = Future()

        def run() -> None:
            try:
                met.set_result(connect())
            except BaseException as error:
                met.set_exception(error)
            with self._changed:
                self._changed.notify_all()

        threading.Thread(target=run, name="meet", daemon=True).start()
        with self._changed:
            self._changed.wait_for(lambda: self._lost or met.done())
            if self._lost is not None:
                raise self._lost
        return met.result()

    @contextmanager
    def step(self, number: int, first: Array, second: Array) -> Iterator[None]:
        """Around rank 0's part of a step that the others are given. What fails inside loses the engine."""
        self.check()
        self._watch.begin_step()
        self._steps, self._in_step = self._steps + 1, True
        try:
            for index in range(len(self._channels)):
                self._send(index, lambda channel: channel.send(number, first, second))
            yield
        except BaseException as error:
            with self._changed:  # another rank's end is the reason rather than what rank 0 sees of it
                self._changed.wait_for(lambda: self._lost is not None, 2 * BEAT_SECONDS)
            self._lose(f"rank 0 failed in a step: {type(error).__name__}: {error}")
            if isinstance(error, DeviceLostError) or not isinstance(error, Exception):
                raise
            raise self._lost from error
        finally:
            self._in_step = False

    def check(self) -> None:
        """Raises DeviceLostError when a rank is lost, or is being given up just now."""
        with self._losing:
            if self._lost is not None:
                raise self._lost

    def close(self) -> None:
        """End all others and wait for their ends. Twice is a no-op."""
        with self._changed:
            self._closing = True
        for channel in self._channels:
            with contextlib.suppress(ChannelClosedError):
                channel.send(Number.END)
        deadline = time.monotonic() + END_SECONDS
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        self._kill()
        if self._watcher.is_alive() and self._watcher is not threading.current_thread():
            self._watcher.join()
        for channel in self._channels:
            channel.close()
        self._channels.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def forked(self) -> None:
        """See `engine.forks`: the other ranks are those of another process."""
        self._changed, self._losing = threading.Condition(), threading.Lock()
        self._lost = DeviceLostError(forks.FORKED)
        for channel in self._channels:
            channel.close()
        self._channels, self._processes = [], []

    def _send(self, index: int, send: Callable[[Channel], None]) -> None:
        try:
            send(self._channels[index])
        except ChannelClosedError as error:
            self._lose(self._death(index))
            raise self._lost from error

    def _run_watch(self) -> None:
        """Until `close`: takes what the others say, and looks whether they live."""
        while not self._closing and self._lost is None:
            readable, _, _ = select.select(self._channels, [], [], BEAT_SECONDS / 2)
            for channel in readable:
                self._take(self._channels.index(channel))
            if self._group is not None:
                waiting, exchanges = self._group.waiting, self._group.exchanges
                self._watch.beat(0, Pulse(self._steps, exchanges, waiting))
            wrong = self._watch.look(self._steps if self._in_step else None)
            if wrong is not None and not self._closing:
                self._lose(wrong)

    def _take(self, index: int) -> None:
        try:
            messages = self._channels[index].arrived()
        except ChannelClosedError:
            if not self._closing:
                self._lose(self._death(index))
            return
        for message in messages:
            self._take_message(index, message)

    def _take_message(self, index: int, message: Message) -> None:
        if message.number == Number.BEAT:
            self._watch.beat(index + 1, Pulse.unpack(message.first))
        elif message.number == Number.FAILED:
            self._lose(f"rank {index + 1} failed: {message.json()}")
        elif message.number == Number.ANSWER:
            with self._changed:
                self._answers[index].append(message.json())
                self._changed.notify_all()

    def _death(self, index: int) -> str:
        """How a rank ended whose channel is closed."""
        return f"rank {index + 1} {how_it_ended(self._processes[index], BEAT_SECONDS)}"

    def _lose(self, reason: str) -> None:
        """End all ranks, so that nobody waits for one that is gone. Returns once they have ended."""
        with self._losing:
            if self._lost is not None:
                return
            lost = DeviceLostError(f"tensor parallelism over {self._size} ranks ended: {reason}")
            logger.error("%s", lost)
            for process in self._processes:
                process.kill()
            if self._group is not None:
                self._group.abort()
            self._kill()
            for listener in self.on_lost:
                listener(lost)
            with self._changed:
                self._lost = lost
                self._changed.notify_all()

    def _kill(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
