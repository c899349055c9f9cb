"""A fork of a process with a pool leaves that alone."""

from __future__ import annotations

import threading

from engine.forks import FORKED
from models.speech import SpeechRequest
from tests.in_fork import in_fork
from tests.models.pool.conftest import Players, ended


def test_a_fork_that_closes_a_pool_takes_no_device_along(players: Players) -> None:
    pool = players.pool(1)
    player = players.next()
    answering = threading.Thread(target=lambda: player.answer(player.asked()))
    answering.start()
    stream = pool.submit(SpeechRequest("r1", "Hello.", 1))
    answering.join()
    assert FORKED in in_fork(lambda: pool.submit(SpeechRequest("r2", "Hello.", 1)))
    assert FORKED in in_fork(lambda: list(stream))
    assert in_fork(pool.close) == "None"
    assert player.process.poll() is None
    player.put(ended("r1"))
    assert list(stream) == [] and [device.state for device in pool.devices] == ["serving"]
    pool.close()
