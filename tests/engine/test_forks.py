"""A fork of a process with an engine: nobody waits there, and the engine goes on here."""

from __future__ import annotations

import threading

from engine.forks import FORKED
from engine.loop import EngineLoop
from tests.engine.fakes import expected_tokens
from tests.engine.stepping import Adapter, Request, tokens_of
from tests.in_fork import in_fork


def test_a_fork_is_told_that_the_engine_is_elsewhere(loop: EngineLoop, engine: Adapter) -> None:
    engine.gate.clear()
    stream = loop.submit(Request("a", [1, 2, 3], 4))
    assert engine.in_step.wait(10)
    for ask in (lambda: loop.submit(Request("b", [1])), lambda: list(stream)):
        assert FORKED in in_fork(ask)
    assert in_fork(lambda: (loop.alive, stream.cancel(), loop.close())) == "(False, None, True)"
    engine.gate.set()
    assert tokens_of(list(stream)) == expected_tokens([1, 2, 3], 4)


def test_locks_that_other_threads_hold_stop_no_fork(loop: EngineLoop, engine: Adapter) -> None:
    engine.gate.clear()
    stream = loop.submit(Request("a", [1, 2, 3], 4))
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with loop._changed, stream._changed:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    try:
        assert FORKED in in_fork(lambda: loop.submit(Request("b", [1])))
        assert FORKED in in_fork(lambda: list(stream))
    finally:
        release.set()
        thread.join()
    engine.gate.set()
    assert len(list(stream)) == 4
