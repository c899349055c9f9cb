"""Whose connection is read next, where very many have a little to be read.

Single bytes of two thousand clients were read in one turn of the event loop, which took a third of a second
so, and an answer takes a dozen turns. A connection is read again when it is its turn, unless a message came
to its end: what follows that waits for an answer, or is counted elsewhere.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

_AT_ONCE = 16
"""Connections that are read in one turn of the event loop, beside those that begin a message."""
_READS = 16
"""Of one message, which may bring little; a head and a body take two."""
_FULL_BYTES = 1 << 10
"""What a read brings of a client that does not drip."""


class ReadInTurns(asyncio.Protocol):
    """A protocol that is read in turn with all others."""

    readers: Readers
    transport: asyncio.Transport
    may_read: Callable[[], bool]
    """Whether the protocol itself wants to read on."""
    _is_whole = False
    """Whether a message came to its end since the last read."""
    _reads = _read_bytes = 0
    """Of the message that is not complete."""

    def message_came(self) -> None:
        """A message came to its end."""
        self._is_whole = True

    def has_read(self, count: int) -> None:
        """Bytes that the protocol was given, and has dealt with."""
        if self._is_whole:
            self._is_whole = False
            self._reads = self._read_bytes = 0
        elif self._is_open():
            self._reads += 1
            self._read_bytes += count
            self.transport.pause_reading()
            self.readers.add(self, drips=self._reads - self._read_bytes // _FULL_BYTES > _READS)

    def read_on(self) -> None:
        """It is its turn."""
        if self._is_open() and self.may_read():
            self.transport.resume_reading()

    def _is_open(self) -> bool:
        return not self.transport.is_closing() and self.transport.get_protocol() is self


class Readers:
    """Connections that wait for their turn; of those that drip one in each, if there are others."""

    def __init__(self) -> None:
        self._others: deque[ReadInTurns] = deque()
        self._dripping: deque[ReadInTurns] = deque()
        self._is_due = False

    def add(self, reader: ReadInTurns, drips: bool) -> None:
        """One more, which reads nothing until then."""
        (self._dripping if drips else self._others).append(reader)
        self._expect()

    def _expect(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self._is_due = False
        for number in range(_AT_ONCE):
            line = self._dripping if self._dripping and (not number or not self._others) else self._others
            if not line:
                return
            line.popleft().read_on()
        self._expect()
