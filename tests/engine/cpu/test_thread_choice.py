"""When an engine takes fewer threads, and when more: steps, neighbours and CPUs are simulated."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from engine.cpu.thread_choice import LONGEST_HOLD_SECONDS, ThreadChoice, cpu_idle_seconds


class Machine:
    """Time passes with the steps; `busy` CPUs of `cpus` are somebody else's."""

    def __init__(self, cpus: int, limit: int, tells: bool = True) -> None:
        self.now, self.idle = 100.0, 0.0
        self.cpus, self.busy, self.tells = cpus, 0, tells
        self.choice = ThreadChoice(limit, lambda: self.now, lambda: self.idle if self.tells else None)

    def run(self, seconds: float) -> list[int]:
        """Steps of 30 ms, ten times as long where there are fewer CPUs than threads and neighbours need."""
        end, history = self.now + seconds, []
        while self.now < end:
            threads = self.choice.threads
            crowded = threads > 1 and threads + self.busy > self.cpus
            began = self.now
            self.now += 0.3 if crowded else 0.03
            self.idle += (self.now - began) * max(0, self.cpus - self.busy - threads)
            self.choice.observe(began, self.now, 0.03)
            history.append(self.choice.threads)
        return history


def test_all_threads_are_kept_on_a_machine_of_its_own() -> None:
    assert set(Machine(4, limit=3).run(30)) == {3}


def test_threads_go_at_the_first_step_that_waits() -> None:
    machine = Machine(4, limit=3)
    machine.busy = 3
    assert machine.run(0.3) == [1]


def test_threads_stay_away_while_the_neighbour_stays() -> None:
    machine = Machine(4, limit=3)
    machine.busy = 3
    assert set(machine.run(300)) == {1}


def test_threads_come_back_one_by_one_when_the_neighbour_has_gone() -> None:
    machine = Machine(6, limit=4)
    machine.busy = 5
    machine.run(5)
    machine.busy = 0
    history = machine.run(20)
    assert sorted(history) == history
    assert history[-1] == 4


def test_the_second_thread_comes_back_though_the_first_never_rests() -> None:
    machine = Machine(2, limit=2)
    machine.busy = 1
    assert machine.run(3)[-1] == 1
    machine.busy = 0
    assert machine.run(5)[-1] == 2


def test_threads_beside_each_other_are_looked_at_together() -> None:
    """A step of 30 ms whose two threads could have computed for 45, and did for 45, 30 and 20."""
    now = 100.0
    choice = ThreadChoice(2, lambda: now, lambda: 0.0)
    for _ in range(20):
        choice.observe(now, now + 0.03, 0.045, 0.045)
        now += 0.03
    for _ in range(20):
        choice.observe(now, now + 0.03, 0.03, 0.045)
        now += 0.03
    assert choice.threads == 2
    for _ in range(24):
        choice.observe(now, now + 0.03, 0.02, 0.045)
        now += 0.03
    assert choice.threads == 1


def test_a_moments_wait_is_no_reason_for_two_threads_to_part() -> None:
    now = 100.0
    choice = ThreadChoice(2, lambda: now, lambda: 0.0)
    for number in range(100):
        choice.observe(now, now + 0.03, 0.03 if number % 20 else 0.01, 0.03)
        now += 0.03
        assert choice.threads == 2


def test_as_many_threads_run_as_the_neighbour_leaves() -> None:
    machine = Machine(8, limit=7)
    machine.busy = 3
    history = machine.run(60)
    assert history[-1] == 4, "a CPU stays for the gateway"


def test_growing_wrongly_becomes_rarer_where_the_system_does_not_tell() -> None:
    machine = Machine(4, limit=3, tells=False)
    machine.busy = 2
    history = machine.run(10 * LONGEST_HOLD_SECONDS)
    attempts = sum(1 for before, after in pairwise(history) if after > before)
    assert history[-1] in (1, 2)
    assert attempts <= 2 * 10 + 6


def test_idleness_between_clips_is_no_reason_to_grow() -> None:
    machine = Machine(2, limit=2)
    machine.busy = 1
    machine.run(3)
    for _ in range(20):
        machine.now += 5
        machine.idle += 5 * 2
        assert set(machine.run(0.4)) == {1}


def test_one_thread_is_never_looked_at() -> None:
    choice = ThreadChoice(1, idle_seconds=lambda: pytest.fail("asked"))
    choice.observe(0, 10, 0)
    assert choice.threads == 1


def test_idle_time_is_that_of_our_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu 9 9 9 900 90 0\ncpu0 1 1 1 100 20 0\ncpu1 1 1 1 7 0 0\ncpu12 1 1 1 30 0 0\nintr 5\n")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 12}, raising=False)
    monkeypatch.setattr("os.sysconf", lambda name: 10)
    assert cpu_idle_seconds(stat) == 15
    assert cpu_idle_seconds(tmp_path / "none") is None


def test_two_threads_that_meet_part_at_the_first_crowded_moment_and_come_back() -> None:
    now, idle = 100.0, 0.0
    choice = ThreadChoice(2, lambda: now, lambda: idle, two_meet=True)

    def run(steps: int, computing: float, free: float) -> int:
        nonlocal now, idle
        for _ in range(steps):
            idle += 0.03 * free
            choice.observe(now, now + 0.03, computing)
            now += 0.03
        return choice.threads

    assert run(50, 0.028, 0.1) == 2
    assert run(8, 0.02, 0.0) == 1
    assert run(150, 0.03, 0.6) == 1, "what is left of the other CPU is not enough"
    assert run(40, 0.03, 0.95) == 2
