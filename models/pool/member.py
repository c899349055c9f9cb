"""One device of a pool, whichever process it has: when one is lost, another one is started."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal

from engine.errors import EngineError
from models.pool.device import DeviceProcess, OnLost, OnProgress
from models.pool.request import PooledRequest
from models.pool.wire import Record

logger = logging.getLogger(__name__)

MOST_TRIES, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 10, 1.0, 60.0
"""Of starting a process again; each pause is twice the one before. These are five minutes."""
STABLE_SECONDS = 60.0
"""A process that has served for so long was well: what follows its end are first tries."""


Join = Callable[[DeviceProcess, Callable[[], object]], object]
"""Gives one that has loaded again what the others have got since they loaded, then lets it serve."""


@dataclass(frozen=True)
class DeviceState:
    """What is told of a device. starting: it is being started again, or will be soon. lost: given up, or
    closed. problem: why it does not serve."""

    name: str
    state: Literal["serving", "starting", "lost"]
    problem: str = ""


@dataclass(frozen=True)
class Launch:
    """How a process of a device is started, and loads: each as the one before.

    alike: what tells the device from the others of its name. child: the module that the process runs.
    threads: of the process, on a CPU.
    """

    device: str
    alike: str
    child: str
    threads: int | None
    options: dict[str, Any]

    def start(self, on_progress: OnProgress = lambda *told: None) -> DeviceProcess:
        """Raises OSError."""
        return DeviceProcess(self.device, self.alike, self.child, on_progress)

    def load(self, process: DeviceProcess) -> Future[Record]:
        """Its result says of the model what there is to say, as `info`."""
        return process.call("load", threads=self.threads, options={**self.options, "device": self.device})


class Member:
    """See the module. `begin` makes it serve."""

    def __init__(self, launch: Launch, process: DeviceProcess) -> None:
        """process: that has loaded."""
        self.name, self.process = process.name, process
        self._launch = launch
        self._info: Record
        self._join: Join
        self._on_lost: OnLost
        self._changing = threading.Lock()
        self._ending = threading.Event()
        self._serves, self._problem, self._given_up = False, "", False
        self._serving_since, self._tries = 0.0, 0
        self._thread: threading.Thread | None = None

    def begin(self, info: Record, join: Join, on_lost: OnLost) -> None:
        """info: of the model, as all say. on_lost: takes over what ran here once it serves no more."""
        self._info, self._join, self._on_lost = info, join, on_lost
        self._serve()

    @property
    def serves(self) -> bool:
        return self._serves and not self.process.lost

    @property
    def problem(self) -> str:
        """Why it does not serve; empty where it does."""
        if self._serves and self.process.lost:  # and that is about to be noted
            return str(self.process.error())
        return self._problem

    @property
    def state(self) -> DeviceState:
        gone = self._given_up or self._ending.is_set()
        state = "serving" if self.serves else "lost" if gone else "starting"
        return DeviceState(self.name, state, self.problem)

    def end(self) -> None:
        """For good; `close` waits for it."""
        with self._changing:
            self._ending.set()
            self.process.end(at_once=not self._serves)

    def close(self) -> None:
        self.process.close()
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        self._serves, self._problem, self._serving_since = True, "", time.monotonic()
        self.process.when_lost(self._lose)

    def _lose(self, requests: list[PooledRequest], error: EngineError) -> None:
        """The process has ended; called by a thread of its own, which may not wait for it."""
        self._problem, self._serves = str(error), False
        if time.monotonic() - self._serving_since >= STABLE_SECONDS:
            self._tries = 0
        with self._changing:
            if not self._ending.is_set():
                self._thread = threading.Thread(
                    target=self._start_again, name=f"restart-{self.name}", daemon=True
                )
                self._thread.start()
        self._on_lost(requests, error)

    def _start_again(self) -> None:
        """Until it serves, the tries are used up, or the pool ends."""
        _end(self.process)
        for pause in self._pauses():
            if self._ending.wait(pause) or self._started():
                return
        self._given_up = True
        logger.error("device %s is given up: %s", self.name, self._problem)

    def _pauses(self) -> Iterator[float]:
        while self._tries < MOST_TRIES:
            self._tries += 1
            yield min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (self._tries - 1))

    def _started(self) -> bool:
        """One try. True also where the pool ends meanwhile."""
        try:
            with self._changing:
                if self._ending.is_set():
                    return True
                self.process = self._launch.start()
            info = self._launch.load(self.process).result()["info"]
            if info != self._info:
                raise EngineError(f"{info['name']} is another checkpoint by now")
            self._join(self.process, self._serve)
        except Exception as error:
            _end(self.process)
            if not self._ending.is_set():
                self._problem = f"device {self.name} cannot be started again: {type(error).__name__}: {error}"
                logger.error("%s", self._problem)
            return self._ending.is_set()
        logger.info("device %s serves again", self.name)
        return True


def _end(process: DeviceProcess) -> None:
    process.end(at_once=True)
    process.close()
