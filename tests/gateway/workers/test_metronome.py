"""A gateway that is late itself gives its workers more time, and only then."""

from __future__ import annotations

from gateway.workers.metronome import Metronome
from tests.gateway.stages.fleet import ManualClock


def test_on_a_machine_in_good_order_deadlines_are_what_they_are() -> None:
    metronome = Metronome(ManualClock())
    metronome.note(0.005)
    assert metronome.allowance(0.5) == 0.0


def test_deadlines_are_stretched_by_the_worst_lateness_of_the_last_second() -> None:
    clock = ManualClock()
    metronome = Metronome(clock)
    metronome.note(0.1)
    clock.advance(0.5)
    metronome.note(0.05)
    assert metronome.lateness_seconds == 0.1
    assert metronome.allowance(0.5) == 0.4
    clock.advance(0.6)
    assert metronome.lateness_seconds == 0.05
    clock.advance(0.6)
    assert metronome.allowance(0.5) == 0.0


def test_no_deadline_grows_beyond_three_times_itself() -> None:
    metronome = Metronome(ManualClock())
    metronome.note(60.0)
    assert metronome.allowance(0.5) == 1.0
