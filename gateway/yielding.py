"""Work that leaves the CPUs to all other programs.

Linux shares CPUs out among sessions first (autogroups), and niceness counts within a session alone. A process
that is its own session, as those that the gateway starts are, says so of its session, too.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_SESSION = Path("/proc/self/autogroup")


def yield_cpus(niceness: int) -> None:
    """Raise the niceness of this process, and of a session that it leads. To be called once."""
    os.nice(niceness)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # where there are no autogroups, niceness is enough
            _SESSION.write_text(str(niceness))
