"""How long an engine has been in a step, where the process is stopped meanwhile."""

from __future__ import annotations

from sockets.own_time import MOST_SECONDS
from worker.engines.step_watch import StepWatch


class Engine:
    """As much of an `EngineLoop` as is looked at, with the clock of both."""

    def __init__(self) -> None:
        self.now, self.began_at, self.step_count = 100.0, None, 0

    @property
    def step_seconds(self) -> float:
        return 0.0 if self.began_at is None else self.now - self.began_at

    def begin(self) -> None:
        self.began_at = self.now

    def end(self) -> None:
        self.began_at, self.step_count = None, self.step_count + 1


def watched() -> tuple[Engine, StepWatch]:
    engine = Engine()
    return engine, StepWatch(engine, lambda: engine.now)


def look_each_second(engine: Engine, watch: StepWatch, times: int) -> float:
    found = watch.look()
    for _ in range(times):
        engine.now += 1.0
        found = watch.look()
    return found


def test_a_step_that_does_not_end_grows_with_the_time() -> None:
    engine, watch = watched()
    engine.begin()
    assert look_each_second(engine, watch, 130) == 130.0


def test_what_passed_while_the_process_was_stopped_is_no_time_of_a_step() -> None:
    engine, watch = watched()
    engine.begin()
    look_each_second(engine, watch, 2)
    engine.now += 3600.0
    assert watch.look() == 2.0 + MOST_SECONDS


def test_a_step_has_no_time_of_what_was_before_it() -> None:
    engine, watch = watched()
    look_each_second(engine, watch, 10)
    engine.begin()
    assert look_each_second(engine, watch, 1) == 1.0
    engine.end()
    assert watch.look() == 0.0
    engine.begin()
    assert look_each_second(engine, watch, 1) == 1.0
