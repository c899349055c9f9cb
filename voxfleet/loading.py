"""How a command loads what it needs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Modules are hundreds of thousands of objects, all of which stay: nothing looks for garbage among them,
    neither while they come, which would take an eighth of a gateway's start, nor later.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
