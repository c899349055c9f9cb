"""Simulated listeners: with the order of deadlines nobody hears a gap where other orders leave many.

A step of n rows takes `base + slope * n` of simulated time; a listener hears a gap when a token comes after
everything before it has been played.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence as Rows
from dataclasses import dataclass, field

import pytest

from engine.config import EngineConfig
from engine.llm_engine import LLMEngine
from engine.model_runner import StepResult
from engine.scheduling import budget
from engine.scheduling import scheduler as scheduler_module
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence

TOKEN_SECONDS = 0.16


@dataclass
class SimulatedDevice:
    """A runner whose steps take simulated time; it also sees when each stream's audio runs out."""

    base: float
    slope: float
    prompt_slope: float = 0.0
    num_blocks: int = 4000
    block_size: int = 16
    max_model_len: int = 1000
    host_memory: None = None
    now: float = 0.0
    largest_batch: int = 0
    longest_step: float = 0.0
    playing_until: dict[str, float] = field(default_factory=dict)
    gap_seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    began_at: dict[str, float] = field(default_factory=dict)

    def clock(self) -> float:
        return self.now

    def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        decodes = sum(row.count == 1 for row in batch)
        positions = sum(row.count for row in batch) - decodes
        seconds = self.base + self.slope * len(batch) + self.prompt_slope * positions
        self.now += seconds
        self.longest_step = max(self.longest_step, seconds if decodes else 0.0)
        self.largest_batch = max(self.largest_batch, decodes)
        return [self._result(row) for row in batch]

    def _result(self, row: ScheduledSequence) -> StepResult | None:
        if not row.samples:
            return None
        name = row.sequence.request_id
        self.began_at.setdefault(name, self.now)
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
    prompt: int = 3


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
        engine.add(Sequence(name, [1] * arrival.prompt, tokens, token_seconds=TOKEN_SECONDS))


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


def test_prompts_take_what_the_listeners_can_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 streams play from 0 s on, 100 prompts of 90 positions come at 5 s: 512 positions beside the decodes
    of a step are 18 steps, and where all are ahead by seconds there is no need for so many.
    """
    arrivals = [Arrival(0.0, 16, 12.0), Arrival(5.0, 100, 6.0, prompt=90)]

    def run() -> SimulatedDevice:
        device = SimulatedDevice(base=0.010, slope=0.0005, prompt_slope=1e-5)
        assert simulate(device, arrivals) == {}
        return device

    def waited(device: SimulatedDevice) -> list[float]:
        return sorted(at - 5.0 for name, at in device.began_at.items() if name.startswith("5.0"))

    spared = waited(run())
    monkeypatch.setattr(budget, "LEAD_SHARE", 0.0)
    fixed = waited(run())
    assert spared[-1] < 0.8 * fixed[-1]
    assert sum(spared) < 0.8 * sum(fixed)


def test_prompts_take_no_more_while_somebody_is_about_to_run_dry() -> None:
    """A token of 160 ms is made in 150: the lead grows by 10 ms a token, and prompts that take 200 ms a
    thousand positions would use it up."""
    device = SimulatedDevice(base=0.100, slope=0.0, prompt_slope=2e-4)
    arrivals = [Arrival(0.0, 4, 8.0), Arrival(2.0, 8, 2.0, prompt=400)]
    assert simulate(device, arrivals, max_prefill_tokens=64) == {}


def test_no_step_beside_decodes_takes_long_however_far_ahead_all_are() -> None:
    """After 5 s two streams are ahead by half a minute, and 40 prompts come that would take 4 s."""
    device = SimulatedDevice(base=0.010, slope=0.010, prompt_slope=1e-3)
    arrivals = [Arrival(0.0, 2, 60.0), Arrival(4.0, 1, 1.0, prompt=90), Arrival(5.0, 40, 1.0, prompt=100)]
    assert simulate(device, arrivals, max_prefill_tokens=16, max_num_batched_tokens=4096) == {}
    assert 0.1 < device.longest_step < 0.5
