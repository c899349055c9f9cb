"""How much memory this process holds, on the host and on its device."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident_memory_bytes() -> int:
    """Resident set size now; where the system does not tell (no /proc), the peak."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def device_memory_bytes(device: str) -> int | None:
    """Device memory that torch has reserved in this process; None without a CUDA device."""
    torch = sys.modules.get("torch")
    if torch is None or not device.startswith("cuda"):
        return None
    return int(torch.cuda.memory_reserved(torch.device(device)))
