"""Ranks as processes: what they are given arrives, and however one ends, all end and say why."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.errors import DeviceLostError
from engine.forks import FORKED
from engine.parallel import meeting
from engine.parallel.ranks import Ranks
from tests.engine.parallel import rank as steps
from tests.engine.parallel.processes import is_running
from tests.in_fork import in_fork

NOTHING = np.zeros(0, np.int64)


@pytest.fixture
def ranks() -> Iterator[Ranks]:
    ranks = Ranks(steps.__name__, 3)
    ranks.start([{}, {}])
    yield ranks
    ranks.close()


def pids_of(ranks: Ranks) -> list[int]:
    return [answer["pid"] for answer in ranks.answers()]


def test_every_rank_gets_the_number_and_both_arrays_of_a_step(ranks: Ranks) -> None:
    assert [answer["rank"] for answer in ranks.answers()] == [1, 2]
    first, second = np.arange(70000), np.array([0.5, -1.0])
    with ranks.step(steps.COMPUTE, first, second):
        found = ranks.answers()
    assert found == [[first.tobytes().hex(), second.tobytes().hex()]] * 2


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (steps.HANG, "hangs in a step"),
        (steps.RAISE, "failed: ValueError: no such step"),
        (steps.DIE, "died, signal 9"),
    ],
)
def test_a_rank_that_hangs_raises_or_dies_in_a_step_ends_all(ranks: Ranks, step: int, reason: str) -> None:
    pids, lost = pids_of(ranks), []
    ranks.on_lost.append(lost.append)
    with pytest.raises(DeviceLostError, match=reason), ranks.step(step, NOTHING, NOTHING):
        ranks.answers()
    assert len(lost) == 1
    assert not any(map(is_running, pids))
    with pytest.raises(DeviceLostError, match=reason), ranks.step(steps.COMPUTE, NOTHING, NOTHING):
        pytest.fail("a lost engine began a step")


def test_a_fork_that_closes_ends_no_rank_of_another_process(ranks: Ranks) -> None:
    pids = pids_of(ranks)
    assert FORKED in in_fork(ranks.check)
    assert in_fork(ranks.close) == "None"
    with ranks.step(steps.COMPUTE, NOTHING, NOTHING):
        assert len(ranks.answers()) == len(pids) == 2


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_is_for_rank_0_alone(ranks: Ranks, sign: signal.Signals) -> None:
    for pid in pids_of(ranks):
        os.kill(pid, sign)
    with ranks.step(steps.COMPUTE, NOTHING, NOTHING):
        assert len(ranks.answers()) == 2


@pytest.mark.parametrize(
    ("sign", "reason"), [(signal.SIGKILL, "died, signal 9"), (signal.SIGSTOP, "told nothing")]
)
def test_a_rank_that_ends_or_stops_between_two_steps_is_noticed(
    ranks: Ranks, sign: signal.Signals, reason: str
) -> None:
    pids, told = pids_of(ranks), threading.Event()
    ranks.on_lost.append(lambda error: told.set())
    os.kill(pids[1], sign)
    assert told.wait(30)
    assert not any(map(is_running, pids))
    with pytest.raises(DeviceLostError, match=f"rank 2 .*{reason}"):
        ranks.check()


def test_a_rank_that_fails_before_it_meets_the_others_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rank 0 stands at the meeting place, and its wait ends with nothing but this test."""
    over = threading.Event()
    monkeypatch.setattr(meeting, "connect", lambda place, device: over.wait())
    ranks = Ranks(steps.__name__, 2)
    try:
        with pytest.raises(DeviceLostError, match="rank 1 failed: RuntimeError: out of memory"):
            meeting.lead(ranks, [{"stays_away": True}], torch.device("cpu"))
    finally:
        over.set()
        ranks.close()


def test_a_rank_that_computes_for_long_is_left_in_peace() -> None:
    ranks = Ranks(steps.__name__, 2)
    try:
        ranks.start([{}])
        pids_of(ranks)
        with ranks.step(steps.WORK, NOTHING, NOTHING):
            assert ranks.answers() == ["worked"]
    finally:
        ranks.close()


def test_what_fails_on_rank_0_in_a_step_ends_all(ranks: Ranks) -> None:
    pids = pids_of(ranks)
    with pytest.raises(DeviceLostError, match="rank 0 failed in a step: RuntimeError: out of memory"):
        with ranks.step(steps.COMPUTE, NOTHING, NOTHING):
            raise RuntimeError("out of memory")
    assert not any(map(is_running, pids))


def test_a_rank_that_fails_as_rank_0_has_ended_ends_as_well() -> None:
    """At once, after a beat: the end of the interpreter waits for recorded steps on a GPU."""
    program = (
        "import socket, time; from engine.parallel.follower import follow\n"
        "own, theirs = socket.socketpair()\n"
        "def serve(follower):\n    time.sleep(0.1); own.close(); raise ValueError('no peer')\n"
        "follow(theirs.detach(), serve)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "no peer" in ended.stderr and "ChannelClosedError" not in ended.stderr


def test_closing_leaves_no_process_no_thread_and_no_file() -> None:
    ranks = Ranks(steps.__name__, 2)
    folder = Path(ranks.place.store).parent
    assert folder.parent == Path(tempfile.gettempdir())
    assert folder.stat().st_mode & 0o077 == 0
    ranks.start([{}])
    (pid,) = pids_of(ranks)
    before = threading.active_count()
    ranks.close()
    ranks.close()
    assert not is_running(pid)
    assert not folder.exists()
    assert threading.active_count() == before - 1


ORPHANS = """
import sys, time
from engine.parallel.ranks import Ranks
ranks = Ranks("tests.engine.parallel.rank", 3)
ranks.start([{}, {}])
print(*(answer["pid"] for answer in ranks.answers()), ranks.place.store, flush=True)
time.sleep(600)
"""


def test_ranks_end_with_rank_0_and_leave_no_file_however_it_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        *found, store = process.stdout.readline().split()
        pids = [int(pid) for pid in found]
        assert Path(store).parent.exists()
        assert len(pids) == 2
        process.kill()
    deadline = time.monotonic() + 30
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, pids))
    assert not Path(store).parent.exists()
