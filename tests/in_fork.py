"""What a plain fork of the test's own process does, as `multiprocessing` makes them."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable

PATIENCE_SECONDS = 60
"""When a fork that waits is ended."""


def in_fork(do: Callable[[], object]) -> str:
    """What `do` returns in a fork, as text, or the words of what it raises; empty where it waits for ever."""
    told, telling = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of processes with threads
        pid = os.fork()
    if pid == 0:
        signal.alarm(PATIENCE_SECONDS)
        try:
            found = str(do())
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        os.write(telling, found.encode())
        os._exit(0)
    os.close(telling)
    with os.fdopen(told) as reading:
        found = reading.read()
    os.waitpid(pid, 0)
    return found
