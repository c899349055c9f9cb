"""What a timer of a live session holds once the session is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import ref

import pytest
import uvloop

from gateway.live.session.timers import Alarm
from gateway.slots.line.positions import call_later


class Session:
    """Rings, and can be seen to be gone."""

    def ring(self) -> None:
        raise AssertionError("rang")


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_an_alarm_that_was_put_off_holds_no_session(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def put_off() -> Session | None:
        session, alarm = Session(), Alarm(call_later)
        seen = ref(session)
        alarm.set(3600.0, session.ring)
        alarm.clear()
        del session
        return seen()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(put_off()) is None
