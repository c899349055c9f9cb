"""What time it is for what goes by its age, while somebody sets the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from structlog.testing import capture_logs

from gateway.database.present import Present

NOW, DAY, YEAR = datetime(2026, 7, 1, tzinfo=UTC), timedelta(days=1), timedelta(days=365)


class Machine:
    """Its clock, which is set, and its counter of seconds, which is not."""

    def __init__(self, clock: datetime = NOW) -> None:
        self.clock, self.counted = clock, 1000.0
        self.present = Present(lambda: self.clock.timestamp(), lambda: self.counted)

    def run(self, time: timedelta) -> datetime:
        self.clock += time
        self.counted += time.total_seconds()
        return self.present.now()

    def set(self, by: timedelta) -> datetime:
        self.clock += by
        return self.present.now()


def test_ages_go_by_the_clock_while_nobody_sets_it() -> None:
    machine = Machine()
    assert [machine.run(DAY) for _ in range(3)] == [NOW + DAY, NOW + 2 * DAY, NOW + 3 * DAY]
    assert machine.set(timedelta(minutes=30)) == machine.clock, "as after a pause of a virtual machine"


def test_a_clock_that_is_set_forward_makes_nothing_old_for_a_week() -> None:
    machine = Machine()
    with capture_logs() as logs:
        assert machine.set(5 * YEAR) == NOW
        assert machine.run(6 * DAY) == NOW + 6 * DAY
    assert [log["by"] for log in logs] == ["1825 days, 0:00:00"], "told of once"
    assert machine.run(DAY) == machine.clock == NOW + 5 * YEAR + 7 * DAY, "nobody has set it back"


def test_a_clock_that_is_set_back_holds_at_once() -> None:
    machine = Machine()
    machine.set(5 * YEAR)
    assert machine.set(-5 * YEAR) == NOW
    assert machine.run(9 * DAY) == NOW + 9 * DAY, "the week is over with it"
    assert machine.set(-YEAR) == machine.clock
    assert machine.set(YEAR) == machine.clock - YEAR
