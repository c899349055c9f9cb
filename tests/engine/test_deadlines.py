"""Simulated listeners: with the order of deadlines nobody hears a gap where other orders leave many.

A step of n rows takes `base + slope * n` of simulated time; a listener hears a gap when a token comes after
everything before it has been played.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence as Rows
from dataclasses import dataclass, field

import pytest

from engine import scheduler as scheduler_module
from engine.config import EngineConfig
from engine.llm_engine import LLMEngine
from engine.model_runner import StepResult
from engine.scheduler import ScheduledSequence
from engine.sequence import Sequence

TOKEN_SECONDS = 0.16


@dataclass
class SimulatedDevice:
    """A runner whose steps take simulated time; it also sees when each stream's audio runs out."""

    base: float
    slope: float
    num_blocks: int = 4000
    block_size: int = 16
    max_model_len: int = 1000
    now: float = 0.0
    largest_batch: int = 0
    playing_until: dict[str, float] = field(default_factory=dict)
    gap_seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def clock(self) -> float:
        return self.now

    def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        self.now += self.base + self.slope * len(batch)
        self.largest_batch = max(self.largest_batch, sum(row.count == 1 for row in batch))
        return [self._result(row) for row in batch]

    def _result(self, row: ScheduledSequence) -> StepResult | None:
        if not row.samples:
            return None
        name = row.sequence.request_id
        until = self.playing_until.get(name, self.now)
        if self.now - until > 1e-9:
            self.gap_seconds[name] += self.now - until
        self.playing_until[name] = max(until, self.now) + TOKEN_SECONDS
        return StepResult(b"patch")

    def release(self, sequence: Sequence) -> None:
        pass


@dataclass(frozen=True)
class Arrival:
    at: float
    count: int
    seconds: float


def simulate(device: SimulatedDevice, arrivals: list[Arrival], **limits: object) -> dict[str, float]:
    """Runs all streams to their end; the seconds of silence each listener heard, those without left out."""
    config = EngineConfig(
        device.num_blocks,
        device.block_size,
        device.max_model_len,
        max_num_seqs=256,
        enable_prefix_caching=False,
        **limits,
    )
    engine, due = LLMEngine(device, config, clock=device.clock), sorted(arrivals, key=lambda a: a.at)
    while due or engine.has_unfinished():
        if not engine.has_unfinished():
            device.now = max(device.now, due[0].at)
        while due and due[0].at <= device.now:
            add(engine, due.pop(0))
        engine.step()
    return dict(device.gap_seconds)


def add(engine: LLMEngine, arrival: Arrival) -> None:
    for number in range(arrival.count):
        name = f"{arrival.at} {number}"
        tokens = round(arrival.seconds / TOKEN_SECONDS)
        engine.add(Sequence(name, [1, 2, 3], tokens, token_seconds=TOKEN_SECONDS))


def first_come_first_served(sequences: list[Sequence], count: int, now: float) -> list[Sequence]:
    return list(sequences)[:count]


def test_more_streams_than_a_step_holds_run_without_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """96 streams on batches of 32 rows, 36 ms each: room for 142 streams, if the right ones go first."""
    arrivals = [Arrival(at=0.03 * i, count=4, seconds=8.0) for i in range(24)]

    def run() -> tuple[dict[str, float], SimulatedDevice]:
        device = SimulatedDevice(base=0.004, slope=0.001)
        return simulate(device, arrivals, max_decodes=32), device

    gaps, device = run()
    assert gaps == {}
    assert device.largest_batch <= 32 and len(device.playing_until) == 96
    monkeypatch.setattr(scheduler_module, "most_urgent", first_come_first_served)
    gaps, _ = run()
    assert len(gaps) >= 24 and max(gaps.values()) > 1.0


def test_streams_far_ahead_wait_for_a_burst_of_new_ones() -> None:
    """100 streams run 10 s and get 3 s ahead, then 60 more come. A step of all 160 takes 180 ms, longer than
    a token plays: every newcomer stutters. Within 120 ms a step serves 100, and those ahead live on that.
    """
    arrivals = [Arrival(at=0.0, count=100, seconds=20.0), Arrival(at=10.0, count=60, seconds=10.0)]
    everyone = SimulatedDevice(base=0.020, slope=0.001)
    gaps = simulate(everyone, arrivals)
    assert everyone.largest_batch == 160
    assert len(gaps) == 60 and all(name.startswith("10.0") for name in gaps)

    by_deadline = SimulatedDevice(base=0.020, slope=0.001)
    assert simulate(by_deadline, arrivals, max_step_seconds=0.12) == {}
    assert by_deadline.largest_batch <= 101


def test_where_the_device_is_too_slow_all_fall_behind_alike() -> None:
    device = SimulatedDevice(base=0.010, slope=0.005)
    gaps = simulate(device, [Arrival(at=0.0, count=60, seconds=5.0)], max_decodes=16)
    assert len(gaps) == 60
    assert min(gaps.values()) > 0.6 * max(gaps.values())
