"""Messages over the channel between two processes, whole and in pieces."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from engine.parallel.channel import HEADER, Channel, ChannelClosedError, Message, Number

LONG = bytes(range(256)) * 4000
"""Longer than one read and than what a socket holds."""


@pytest.fixture
def both() -> Iterator[tuple[Channel, socket.socket]]:
    """A channel, and the socket of the other side."""
    own, other = socket.socketpair()
    channel = Channel(own)
    yield channel, other
    channel.close()
    other.close()


def in_thread(send, *arguments) -> threading.Thread:
    thread = threading.Thread(target=send, args=arguments)
    thread.start()
    return thread


def plain(message: Message) -> tuple[int, bytes, bytes]:
    return message.number, bytes(message.first), bytes(message.second)


def test_long_and_short_messages_come_in_their_order(both: tuple[Channel, socket.socket]) -> None:
    channel, other = both
    sender = Channel(other)
    sent = [
        (16, b"a", b""),
        (17, b"{}", LONG),
        (18, LONG, b"b"),
        (19, b"", b""),
        (20, LONG, LONG),
        (21, b"c", b"d"),
    ]
    thread = in_thread(lambda: [sender.send(*message) for message in sent])
    assert [plain(channel.receive(30)) for _ in sent] == sent
    thread.join()


def test_what_has_come_of_a_long_message_is_kept(both: tuple[Channel, socket.socket]) -> None:
    channel, other = both
    data = HEADER.pack(16, 2, len(LONG)) + b"ab" + LONG
    begin, rest = data[:100_000], data[100_000:]
    other.sendall(begin)
    for _ in range(2):
        with pytest.raises(TimeoutError, match=r"nothing for 0\.05 s"):
            channel.receive(0.05)
    thread = in_thread(other.sendall, rest)
    assert plain(channel.receive(30)) == (16, b"ab", LONG)
    thread.join()


def test_a_long_message_that_arrives_is_taken_without_waiting(both: tuple[Channel, socket.socket]) -> None:
    channel, other = both
    thread = in_thread(other.sendall, HEADER.pack(16, 0, len(LONG)) + LONG + HEADER.pack(17, 1, 0) + b"x")
    found: list[tuple[int, bytes, bytes]] = []
    while len(found) < 2:
        found += map(plain, channel.arrived())
    assert found == [(16, b"", LONG), (17, b"x", b"")]
    thread.join()
    assert channel.arrived() == []


def test_the_end_within_a_long_message_is_told(both: tuple[Channel, socket.socket]) -> None:
    channel, other = both
    other.sendall(HEADER.pack(16, 0, len(LONG)) + LONG[:70_000])
    other.close()
    with pytest.raises(ChannelClosedError, match="closed"):
        channel.receive()


def test_a_long_message_is_few_reads(
    both: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each the thread waits for the others of its process."""
    channel, other = both
    reads = []
    read = Channel._read
    monkeypatch.setattr(Channel, "_read", lambda self, flags: (reads.append(flags), read(self, flags)))
    thread = in_thread(Channel(other).send, int(Number.FIRST_STEP), b"", LONG)
    assert plain(channel.receive()) == (16, b"", LONG)
    thread.join()
    assert len(reads) == 2
