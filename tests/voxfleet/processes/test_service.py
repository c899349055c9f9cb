"""Keeping a child alive: restarts, back-off, when a start counts as failed, and stopping at every moment."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sockets.own_time import OwnTime
from voxfleet.processes import service
from voxfleet.processes.service import Health, RestartPolicy, Service, describe_exit

QUICK = RestartPolicy(
    first_delay_seconds=0.01,
    max_delay_seconds=0.05,
    stable_seconds=3600,
    probe_interval_seconds=0.01,
    healthy_interval_seconds=0.01,
)
SLEEP = "import time; time.sleep(600)"


@dataclass
class Witness:
    """Remembers what a service reported."""

    down: asyncio.Queue[tuple[str, float]] = field(default_factory=asyncio.Queue)
    healthy: asyncio.Queue[int] = field(default_factory=asyncio.Queue)
    lines: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    def on_line(self, service: Service, line: str) -> None:
        self.lines.put_nowait(line)

    def on_health(self, service: Service, health: Health) -> None:
        if health.healthy and service.pid is not None:
            self.healthy.put_nowait(service.pid)

    def on_down(self, service: Service, reason: str, delay_seconds: float) -> None:
        self.down.put_nowait((reason, delay_seconds))


@asynccontextmanager
async def running(
    program: str, health: Callable[[], Health | None], policy: RestartPolicy = QUICK
) -> AsyncIterator[tuple[Service, Witness]]:
    async def probe(pid: int) -> Health | None:
        return health()

    witness = Witness()
    service = Service("child", [sys.executable, "-c", program], {}, probe, witness, policy)
    service.start()
    try:
        yield service, witness
    finally:
        await service.stop(grace_seconds=0)


async def test_a_killed_child_comes_back_as_another_process() -> None:
    async with running(SLEEP, lambda: Health(healthy=True)) as (_, witness):
        first = await witness.healthy.get()
        os.kill(first, signal.SIGKILL)
        reason, _ = await witness.down.get()
        assert reason == "was ended by SIGKILL, as where memory runs out"
        second = first
        while second == first:
            second = await witness.healthy.get()
        assert os.getpgid(second) == second


async def test_starts_that_never_get_healthy_make_a_service_hopeless() -> None:
    async with running("raise SystemExit(3)", lambda: None) as (service, witness):
        for expected in (1, 2, 3):
            assert (await witness.down.get())[0] == "exited with code 3"
            assert service.failed_starts == expected
        assert service.hopeless


async def test_one_healthy_answer_clears_the_failed_starts(tmp_path: Path) -> None:
    marker = tmp_path / "runs"
    program = (
        f"import pathlib, time; runs = pathlib.Path({str(marker)!r})\n"
        "runs.write_text((runs.read_text() if runs.exists() else '') + 'x')\n"
        "if len(runs.read_text()) < 3: raise SystemExit(1)\n"
        "time.sleep(600)"
    )

    def health() -> Health | None:
        return Health(healthy=True) if marker.exists() and len(marker.read_text()) == 3 else None

    async with running(program, health) as (service, witness):
        await witness.down.get()
        await witness.down.get()
        assert service.failed_starts == 2
        await witness.healthy.get()
        assert service.failed_starts == 0


async def test_a_child_that_refuses_its_settings_is_hopeless_at_once() -> None:
    async with running("print('no such port'); raise SystemExit(2)", lambda: None) as (service, witness):
        assert (await witness.down.get())[0] == "exited with code 2: no such port"
        assert service.hopeless


async def test_a_reported_error_ends_the_run_and_is_the_reason() -> None:
    async with running(SLEEP, lambda: Health(error="failed: no weights")) as (service, witness):
        assert (await witness.down.get())[0] == "failed: no weights"
        assert service.failed_starts == 1


async def test_a_child_that_falls_silent_is_replaced() -> None:
    answers = iter([Health(healthy=True)])
    policy = RestartPolicy(
        first_delay_seconds=0.01,
        probe_interval_seconds=0.01,
        healthy_interval_seconds=0.01,
        silent_seconds=0.05,
    )
    async with running(SLEEP, lambda: next(answers, None), policy) as (_, witness):
        await witness.healthy.get()
        assert "gave no answer" in (await witness.down.get())[0]


async def test_who_was_stopped_as_well_does_not_call_a_child_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    now, probes = [0.0], itertools.count()
    monkeypatch.setattr(service, "OwnTime", lambda: OwnTime(lambda: now[0]))

    def health() -> Health | None:
        if next(probes) != 1:
            return Health(healthy=True)
        now[0] += 10 * QUICK.silent_seconds
        return None

    async with running(SLEEP, health) as (_, witness):
        pids = {await witness.healthy.get() for _ in range(3)}
        assert len(pids) == 1
        assert witness.down.empty()


async def test_a_program_that_cannot_be_started_is_a_failed_start() -> None:
    witness = Witness()

    async def probe(pid: int) -> Health | None:
        return None

    service = Service("child", ["/nonexistent/program"], {}, probe, witness, QUICK)
    service.start()
    assert (await witness.down.get())[0].startswith("cannot be started")
    await service.stop(0)
    assert service.failed_starts >= 1


async def test_stopping_while_it_waits_to_start_again_ends_the_wait() -> None:
    policy = RestartPolicy(first_delay_seconds=3600, max_delay_seconds=3600)
    async with running("raise SystemExit(1)", lambda: None, policy) as (service, witness):
        await witness.down.get()
        await service.stop(grace_seconds=0)
        assert witness.down.empty()


async def test_stopping_is_no_failure() -> None:
    async with running(SLEEP, lambda: Health(healthy=True)) as (service, witness):
        pid = await witness.healthy.get()
        await service.stop(grace_seconds=60)
        assert witness.down.empty()
        assert service.pid is None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        raise AssertionError("the child is still there")


def test_the_back_off_doubles_up_to_its_limit() -> None:
    policy = RestartPolicy(first_delay_seconds=0.5, max_delay_seconds=30)
    assert [policy.delay_seconds(runs) for runs in (1, 2, 3, 6, 7, 8, 10_000)] == [0.5, 1, 2, 16, 30, 30, 30]


async def test_the_back_off_starts_over_after_a_stable_run() -> None:
    policy = RestartPolicy(
        first_delay_seconds=0.01, stable_seconds=0, probe_interval_seconds=0.01, healthy_interval_seconds=0.01
    )
    async with running(SLEEP, lambda: Health(healthy=True), policy) as (_, witness):
        for _ in range(3):
            pid = await witness.healthy.get()
            os.kill(pid, signal.SIGKILL)
            _, delay_seconds = await witness.down.get()
            assert delay_seconds == 0.01
            while not witness.healthy.empty():
                witness.healthy.get_nowait()


def test_an_exit_is_described_by_code_or_signal() -> None:
    assert describe_exit(3) == "exited with code 3"
    assert describe_exit(-9) == "was ended by SIGKILL, as where memory runs out"
    assert describe_exit(-200) == "was ended by signal 200"
