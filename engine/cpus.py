"""How many CPUs there are to use."""

from __future__ import annotations

import os


def available_cpus() -> int:
    """CPUs this process may run on (a container's set, not the machine's)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
