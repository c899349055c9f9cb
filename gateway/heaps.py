"""How many heaps there are for memory that is not Python's.

glibc gives threads heaps of their own, eight for each CPU, and what is freed in one serves no other. With
threads that encode, decode and read, a gateway came to hold much more than it used.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

_M_ARENA_MAX = -8
"""Of glibc's `mallopt`."""
_HEAPS = 2


def share_heaps() -> None:
    """Have all threads use two; called before there are any, unless MALLOC_ARENA_MAX says how many. Other C
    libraries have none.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _HEAPS)
