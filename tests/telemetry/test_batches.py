"""What waits is sent beside: in time, when there is much of it, and at the end; never for ever."""

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

    def __init__(self, taken: bool = True) -> None:
        self.batches: list[list[int]] = []
        self.came = threading.Event()
        self.shut_down = 0
        self.taken = taken

    def take(self, batch: list[int]) -> bool:
        self.batches.append(batch)
        self.came.set()
        return self.taken

    def shutdown(self) -> None:
        self.shut_down += 1

    def batch(self, **limits: int) -> Batch[int]:
        return Batch("logs", self.take, self.shutdown, **limits)


class Hanging(Sent):
    """Does not answer before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = threading.Event()

    def take(self, batch: list[int]) -> bool:
        super().take(batch)
        return self.may_end.wait(PATIENCE_SECONDS)


@pytest.fixture
def sent() -> Sent:
    return Sent()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    hanging = Hanging()
    yield hanging
    hanging.may_end.set()


def test_of_too_many_the_oldest_are_dropped_and_no_message_has_more_than_its_share(sent: Sent) -> None:
    batch = sent.batch(most=5, full=2)
    for number in range(8):
        batch.note(number)
    batch.send()
    assert sent.batches == [[3, 4], [5, 6], [7]]
    assert batch.dropped == {"queue_full": 3, "not_taken": 0}


def test_what_a_receiver_does_not_take_is_counted_and_not_sent_again() -> None:
    refusing = Sent(taken=False)
    batch = refusing.batch(full=2)
    for number in range(3):
        batch.note(number)
    batch.send()
    batch.send()
    assert refusing.batches == [[0, 1], [2]]
    assert batch.dropped == {"queue_full": 0, "not_taken": 3}


def test_nothing_is_sent_where_nothing_waits(sent: Sent) -> None:
    batch = sent.batch()
    batch.send()
    assert sent.batches == []


def test_a_full_batch_is_sent_at_once(sent: Sent) -> None:
    batch = sent.batch(full=3)
    sender = Sender([batch])
    sender.start()
    for number in range(3):
        batch.note(number)
    assert sent.came.wait(PATIENCE_SECONDS)
    assert sender.stop(PATIENCE_SECONDS)


def test_what_waits_at_the_end_is_sent_before_the_exporters_are_shut_down(sent: Sent) -> None:
    one, other = sent.batch(), sent.batch()
    sender = Sender([one, other])
    sender.start()
    one.note(1)
    other.note(2)
    assert sender.stop(PATIENCE_SECONDS)
    assert sorted(sent.batches) == [[1], [2]] and sent.shut_down == 2


def test_of_what_no_message_can_be_made_is_counted_and_its_thread_goes_on(
    sent: Sent, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(batch: list[int]) -> bool:
        raise ValueError("no message can be made of it")

    failing = Batch("traces", fail, sent.shutdown)
    sender = Sender([failing])
    sender.start()
    failing.note(1)
    assert sender.stop(PATIENCE_SECONDS)
    assert failing.dropped == {"queue_full": 0, "not_taken": 1}
    assert sent.shut_down == 1 and "dropped" in caplog.text


def test_no_signal_waits_for_one_whose_receiver_hangs(sent: Sent, hanging: Hanging) -> None:
    one, other = hanging.batch(full=1), sent.batch(full=1)
    sender = Sender([one, other])
    sender.start()
    one.note(1)
    assert hanging.came.wait(PATIENCE_SECONDS)
    other.note(2)
    assert sent.came.wait(PATIENCE_SECONDS) and sent.batches == [[2]]
    hanging.may_end.set()
    assert sender.stop(PATIENCE_SECONDS)


def test_the_end_does_not_wait_for_a_receiver_that_hangs(sent: Sent, hanging: Hanging) -> None:
    one, other = hanging.batch(full=1), sent.batch()
    sender = Sender([one, other])
    sender.start()
    one.note(1)
    other.note(2)
    assert hanging.came.wait(PATIENCE_SECONDS)
    assert not sender.stop(0.01)
    assert sent.came.wait(PATIENCE_SECONDS), "the other is sent at the end all the same"
    hanging.may_end.set()
    assert sender.stop(PATIENCE_SECONDS)
