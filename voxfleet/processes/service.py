"""One child that is kept alive: started, probed, restarted with exponential back-off, stopped.

A run of the child counts as a start that failed when it ends, reports an error or falls silent before its
first healthy answer. `failed_starts` counts those in a row, so that the supervisor can tell "crashed once,
coming back" from "cannot start at all". The back-off doubles with every run that ends and returns to its
first value after a run that stayed healthy for `stable_seconds`.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sockets.own_time import OwnTime
from voxfleet.processes.child_process import ChildProcess

USAGE_EXIT_CODE = 2
"""How a command ends whose options or settings are wrong, by the custom of argument parsers."""


@dataclass(frozen=True)
class RestartPolicy:
    first_delay_seconds: float = 0.5
    max_delay_seconds: float = 30.0
    stable_seconds: float = 30.0
    max_failed_starts: int = 3
    probe_interval_seconds: float = 0.25
    healthy_interval_seconds: float = 1.0
    silent_start_seconds: float = 180.0
    """How long a child may take until its first answer (not until it is healthy)."""
    silent_seconds: float = 60.0
    """How long a child that answered before may fall silent."""

    def delay_seconds(self, ended_runs: int) -> float:
        """The wait before the next start, after `ended_runs` >= 1 runs in a row that were not stable."""
        return min(self.max_delay_seconds, self.first_delay_seconds * 2 ** min(ended_runs - 1, 30))


@dataclass(frozen=True)
class Health:
    """What one probe found. Neither healthy nor failed: it is loading, `stage` and `progress` say how far."""

    healthy: bool = False
    stage: str = ""
    progress: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class RunEnd:
    """Why one run of the child ended."""

    reason: str
    is_usage_error: bool = False
    """The child refused its own options or settings; another start with the same ones cannot help."""


Probe = Callable[[int], Awaitable[Health | None]]
"""Asks the child with this process id how it is; None when it does not answer. Bounds its own time."""


class ServiceObserver(Protocol):
    """Who wants to know; all calls come from the event loop."""

    def on_line(self, service: Service, line: str) -> None: ...
    def on_health(self, service: Service, health: Health) -> None: ...
    def on_down(self, service: Service, reason: str, delay_seconds: float) -> None: ...


@dataclass
class Service:
    """A supervised child."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    probe: Probe
    observer: ServiceObserver
    policy: RestartPolicy = field(default_factory=RestartPolicy)
    failed_starts: int = field(default=0, init=False)
    pid: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._stopping = asyncio.Event()
        self._grace_seconds = 0.0
        self._child: ChildProcess | None = None
        self._task: asyncio.Task[None] | None = None
        self._healthy_since: float | None = None

    @property
    def is_healthy(self) -> bool:
        """The child that runs has answered so."""
        return self._healthy_since is not None

    @property
    def hopeless(self) -> bool:
        """It failed to start so often in a row that trying again will hardly help."""
        return self.failed_starts >= self.policy.max_failed_starts

    def start(self) -> asyncio.Task[None]:
        """Starts the child and keeps it alive until `stop`; the task ends early only by a defect of ours."""
        self._task = asyncio.create_task(self._keep_alive(), name=self.name)
        return self._task

    async def stop(self, grace_seconds: float) -> None:
        """Ends the child, with SIGKILL after `grace_seconds`, and does not start it again."""
        self._grace_seconds = grace_seconds
        self._stopping.set()
        if self._task is not None:
            await self._task

    def kill(self) -> None:
        """Ends the child now; for the impatient second Ctrl-C while `stop` waits."""
        if self._child is not None:
            self._child.kill()

    async def _keep_alive(self) -> None:
        ended_runs = 0
        while not self._stopping.is_set():
            self._healthy_since = None
            end = await self._run_once()
            if self._stopping.is_set():
                return
            if self._was_stable():
                ended_runs = 0
            ended_runs += 1
            if not self.is_healthy:
                self.failed_starts += self.policy.max_failed_starts if end.is_usage_error else 1
            delay_seconds = self.policy.delay_seconds(ended_runs)
            self.observer.on_down(self, end.reason, delay_seconds)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay_seconds)

    @property
    def _probe_interval_seconds(self) -> float:
        policy = self.policy
        return policy.healthy_interval_seconds if self.is_healthy else policy.probe_interval_seconds

    def _was_stable(self) -> bool:
        since = self._healthy_since
        return since is not None and time.monotonic() - since >= self.policy.stable_seconds

    async def _run_once(self) -> RunEnd:
        """Runs the child until it ends or must be ended, and returns why."""
        last_line = ""

        def on_line(line: str) -> None:
            nonlocal last_line
            last_line = line
            self.observer.on_line(self, line)

        try:
            child = await ChildProcess.start(self.command, self.environment, on_line)
        except OSError as error:
            return RunEnd(f"cannot be started: {error}")
        self._child, self.pid = child, child.pid
        exited = asyncio.create_task(child.wait())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            reason = await self._watch(child, {exited, stopping})
            if not exited.done():
                await child.terminate(self._grace_seconds)
            exit_code = await exited
            if reason is not None:
                return RunEnd(reason)
            if exit_code == USAGE_EXIT_CODE:
                return RunEnd(f"{describe_exit(exit_code)}: {last_line}", is_usage_error=True)
            return RunEnd(describe_exit(exit_code))
        finally:
            stopping.cancel()
            self._child, self.pid = None, None

    async def _watch(self, child: ChildProcess, ends: set[asyncio.Task]) -> str | None:
        """Probes until one of `ends` is done (None) or the child has to be replaced (the reason)."""
        own_time, silent_seconds, answered = OwnTime(), 0.0, False
        while True:
            done, _ = await asyncio.wait(
                ends, timeout=self._probe_interval_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return None
            health = await self.probe(child.pid)
            silent_seconds += own_time.look()
            if health is not None:
                silent_seconds, answered = 0.0, True
                if health.error is not None:
                    return health.error
                self._note(health)
            limit_seconds = self.policy.silent_seconds if answered else self.policy.silent_start_seconds
            if silent_seconds > limit_seconds:
                return f"gave no answer for {limit_seconds:.0f} s"

    def _note(self, health: Health) -> None:
        if health.healthy and not self.is_healthy:
            self._healthy_since = time.monotonic()
            self.failed_starts = 0
        self.observer.on_health(self, health)


def describe_exit(exit_code: int) -> str:
    """ "exited with code 3" or "was ended by SIGTERM"."""
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        return f"was ended by signal {-exit_code}"
    return f"was ended by {name}" + (", as where memory runs out" if name == "SIGKILL" else "")
