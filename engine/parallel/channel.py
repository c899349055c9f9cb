"""Messages between rank 0 and one other rank, over a socket that only these two processes have.

A message is a number and two flat arrays: which program a step is, and its inputs. Everything else is JSON
in the first of them. Nothing is unpickled.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
from contextlib import suppress
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

HEADER = struct.Struct("<III")
"""The number, and the bytes of each array."""
Array = bytes | np.ndarray
MOST_BYTES = 1 << 28
"""The most bytes of an array."""
_READ_BYTES = 1 << 16
"""That are asked for where nobody knows how many come. The rest of a longer message is one call, since after
each call a thread waits until the others of its process let it go on: with four devices that speak 64 clips
each, whose messages have 2 MB, that was a quarter of a second."""


class Number(IntEnum):
    """Numbers of messages that are not steps."""

    END = 0
    """To a follower: leave."""
    TELL = 1
    """JSON, to a follower, which answers in JSON."""
    ANSWER = 2
    FAILED = 3
    """From a follower: JSON, why it ends."""
    BEAT = 4
    """From a follower: a `watch.Pulse`."""
    FIRST_STEP = 16
    """From here on numbers are a model's."""


class Message(NamedTuple):
    number: int
    first: bytes
    second: bytes | memoryview

    def json(self) -> Any:
        return json.loads(self.first)


class ChannelClosedError(ConnectionError):
    """The other process has ended, or has closed its side."""


class _Long:
    """A message that is longer than a read, of which `data` has come so far."""

    def __init__(self, number: int, sizes: tuple[int, int], data: bytearray) -> None:
        self._number, self._middle = number, sizes[0]
        self._buffer = memoryview(np.empty(sum(sizes), np.uint8))
        self._buffer[: len(data)] = data
        self._filled = len(data)

    def read(self, own: socket.socket, flags: int) -> int:
        """How many bytes have come."""
        count = own.recv_into(self._buffer[self._filled :], 0, flags)
        self._filled += count
        return count

    def whole(self) -> Message | None:
        if self._filled < len(self._buffer):
            return None
        first, second = self._buffer[: self._middle], self._buffer[self._middle :]
        return Message(self._number, bytes(first), second.toreadonly())


class Channel:
    """One side of the socket. Several threads may send, one may receive."""

    def __init__(self, own: socket.socket) -> None:
        self._socket, self._sending = own, threading.Lock()
        self._received = bytearray()
        self._long: _Long | None = None
        self._limit_seconds: float | None = None

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, number: int, first: Array = b"", second: Array = b"") -> None:
        """Raises ChannelClosedError."""
        parts = [part.tobytes() if isinstance(part, np.ndarray) else part for part in (first, second)]
        data = b"".join((HEADER.pack(number, *map(len, parts)), *parts))
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def send_json(self, number: int, value: Any) -> None:
        """Raises ChannelClosedError."""
        self.send(number, json.dumps(value).encode())

    def receive(self, limit_seconds: float | None = None) -> Message:
        """The next message, once it is there. Raises ChannelClosedError, TimeoutError when nothing comes for
        `limit_seconds`; what has come of a message is kept."""
        while (message := self._whole()) is None:
            if limit_seconds is not None and not self._waits(limit_seconds):
                raise TimeoutError(f"nothing for {limit_seconds:g} s")
            if limit_seconds != self._limit_seconds:
                self._limit(limit_seconds)
            with suppress(BlockingIOError):  # less than the rest of a long message came within the limit
                self._read(0)
        return message

    def arrived(self) -> list[Message]:
        """What is there, without waiting for more. Raises ChannelClosedError after the last message."""
        messages = []
        try:
            self._read(socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        while (message := self._whole()) is not None:
            messages.append(message)
        return messages

    def hang_up(self) -> None:
        """Nothing more comes or goes, so that who waits to receive is told; from any thread."""
        with suppress(OSError):  # the other process was first
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _waits(self, limit_seconds: float) -> bool:
        """Whether something is there to be read, or comes within the limit; the end is something, too."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(1000 * limit_seconds))

    def _limit(self, limit_seconds: float | None) -> None:
        """How long a read may wait for the rest of a long message."""
        seconds = limit_seconds or 0.0  # 0: as long as it takes
        told = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, told)
        self._limit_seconds = limit_seconds

    def _read(self, flags: int) -> None:
        try:
            if self._long is not None:
                count = self._long.read(self._socket, flags or socket.MSG_WAITALL)
            else:
                data = self._socket.recv(_READ_BYTES, flags)
                self._received += data
                count = len(data)
        except BlockingIOError:
            raise
        except OSError as error:
            raise ChannelClosedError(str(error)) from error
        if not count:
            raise ChannelClosedError("closed")

    def _whole(self) -> Message | None:
        if self._long is not None:
            if (message := self._long.whole()) is not None:
                self._long = None
            return message
        if len(self._received) < HEADER.size:
            return None
        number, *sizes = HEADER.unpack_from(self._received)
        if max(sizes) > MOST_BYTES:
            raise ChannelClosedError(f"a message of {max(sizes)} bytes")
        middle, end = HEADER.size + sizes[0], HEADER.size + sum(sizes)
        if len(self._received) < end:
            if end > _READ_BYTES:
                self._long = _Long(number, (sizes[0], sizes[1]), self._received[HEADER.size :])
                self._received.clear()
            return None
        with memoryview(self._received) as received:
            message = Message(number, bytes(received[HEADER.size : middle]), bytes(received[middle:end]))
        del self._received[:end]
        return message
