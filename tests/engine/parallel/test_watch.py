"""When a rank counts as hanging."""

from __future__ import annotations

import pytest

from engine.parallel.watch import OWN_PAUSE_SECONDS, START_SECONDS, STILL_SECONDS, Pulse, Watch


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def verdict(pulses: list[tuple[Pulse, Pulse, Pulse]], steps: int | None = 1) -> str | None:
    """After ranks 0 to 2 have told these pulses, a quarter of a second apart."""
    clock = Clock()
    watch = Watch(3, clock)
    watch.begin_step()
    for row in pulses:
        clock.now += 0.25
        for rank, pulse in enumerate(row):
            watch.beat(rank, pulse)
        found = watch.look(steps)
        if found is not None:
            return found
    return None


BEATS = range(int(STILL_SECONDS / 0.25) + 3)
WAITS = Pulse(waiting=True)


@pytest.mark.parametrize(
    ("second", "steps", "found"),
    [
        (lambda beat: Pulse(), 1, "rank 1 hangs in a step"),
        (lambda beat: Pulse(cpu_ns=beat * 100_000), 1, None),  # slow: what it computes adds up
        (lambda beat: Pulse(exchanges=beat), 1, None),
        (lambda beat: Pulse(waiting=True), 1, "the ranks wait for each other"),
        (
            lambda beat: Pulse(steps=1),
            1,
            "the ranks wait for each other",
        ),  # rank 2 waits, and rank 1 is through
        (lambda beat: Pulse(), None, None),  # nobody has anything to do
    ],
)
def test_who_neither_computes_nor_waits_hangs(second, steps: int | None, found: str | None) -> None:
    assert verdict([(WAITS, second(beat), WAITS) for beat in BEATS], steps) == found


def test_who_waits_for_a_rank_that_computes_does_not_hang() -> None:
    assert verdict([(WAITS, WAITS, Pulse(cpu_ns=beat * 1_000_000)) for beat in BEATS]) is None
    assert verdict([(Pulse(), WAITS, WAITS) for _ in BEATS]) is None  # rank 0 has not come yet


def test_silence_counts_only_while_somebody_listened() -> None:
    clock = Clock()
    watch = Watch(2, clock)
    watch.beat(1, Pulse())
    for _ in range(5):  # the machine stood still
        clock.now += OWN_PAUSE_SECONDS + 10
        assert watch.look(None) is None
    while watch.look(None) is None:
        clock.now += 0.1
        assert clock.now < 200
    assert "rank 1 has told nothing" in str(watch.look(None))


def test_a_process_may_take_its_time_to_begin() -> None:
    clock = Clock()
    watch = Watch(2, clock)
    while watch.look(None) is None:
        clock.now += 0.4
    assert clock.now > 100 + START_SECONDS
