"""What a fork of a process finds of the engines in it: none that serves.

A fork has the thread that forked alone, so that nobody there would ever answer, and locks that other threads
held stay locked. Before it goes on, all that is `watched` is told to give up:

    watch(loop)          # in a fork `loop.forked()` is called
"""

from __future__ import annotations

import os
from typing import NoReturn, Protocol, SupportsIndex
from weakref import WeakSet

FORKED = "this process is a fork of the one that has the engine; load the model here, or start it by spawn"


class Forkable(Protocol):
    """An object with threads, which a fork of its process lacks."""

    def forked(self) -> None:
        """Let nobody wait in this process, a fork, and leave alone what is shared with the other one."""


class OfOneProcess:
    """What cannot be copied, nor pickled for another process, and says so."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        kind = type(self).__name__
        raise TypeError(f"{kind} objects are not copied or pickled: each process loads a model of its own")


_watched: WeakSet[Forkable] = WeakSet()


def watch(owner: Forkable) -> None:
    """Tell it in every fork of this process, as long as it lives."""
    _watched.add(owner)


def _tell() -> None:
    for owner in list(_watched):
        owner.forked()


os.register_at_fork(after_in_child=_tell)
