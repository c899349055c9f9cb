"""What waits is sent by one thread: in time, when there is much of it, and at the end; never for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from telemetry.otlp import batches
from telemetry.otlp.batches import Batch, Sender
from tests.forks import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def _only_when_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SECONDS", PATIENCE_SECONDS)


class Sent:
    """Takes batches, and tells when one has come; an exporter."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.came = threading.Event()
        self.shut_down = 0

    def take(self, batch: list[int]) -> None:
        self.batches.append(batch)
        self.came.set()

    def shutdown(self) -> None:
        self.shut_down += 1


@pytest.fixture
def sent() -> Iterator[Sent]:
    yield Sent()


def test_of_too_many_the_oldest_are_dropped_and_no_message_has_more_than_its_share(sent: Sent) -> None:
    batch = Batch(sent.take, most=5, full=2)
    for number in range(8):
        batch.note(number)
    batch.send()
    assert sent.batches == [[3, 4], [5, 6], [7]]


def test_nothing_is_sent_where_nothing_waits(sent: Sent) -> None:
    batch = Batch(sent.take)
    batch.send()
    assert sent.batches == []


def test_a_full_batch_is_sent_at_once(sent: Sent) -> None:
    batch = Batch(sent.take, full=3)
    sender = Sender([batch], [sent])
    sender.start()
    for number in range(3):
        batch.note(number)
    assert sent.came.wait(PATIENCE_SECONDS)
    assert sender.stop(PATIENCE_SECONDS)


def test_what_waits_at_the_end_is_sent_before_the_exporters_are_shut_down(sent: Sent) -> None:
    one, other = Batch(sent.take), Batch(sent.take)
    sender = Sender([one, other], [sent])
    sender.start()
    one.note(1)
    other.note(2)
    assert sender.stop(PATIENCE_SECONDS)
    assert sorted(sent.batches) == [[1], [2]] and sent.shut_down == 1


def test_one_that_cannot_be_sent_keeps_no_other_back(sent: Sent, caplog: pytest.LogCaptureFixture) -> None:
    def fail(batch: list[int]) -> None:
        raise ValueError("no message can be made of it")

    failing, other = Batch(fail), Batch(sent.take)
    sender = Sender([failing, other], [])
    sender.start()
    failing.note(1)
    other.note(2)
    assert sender.stop(PATIENCE_SECONDS)
    assert sent.batches == [[2]] and "dropped" in caplog.text


def test_the_end_does_not_wait_for_a_receiver_that_hangs() -> None:
    hangs, may_end = threading.Event(), threading.Event()

    def hang(batch: list[int]) -> None:
        hangs.set()
        may_end.wait(PATIENCE_SECONDS)

    batch = Batch(hang, full=1)
    sender = Sender([batch], [])
    sender.start()
    batch.note(1)
    assert hangs.wait(PATIENCE_SECONDS)
    assert not sender.stop(0.01)
    may_end.set()
    assert sender.stop(PATIENCE_SECONDS)
