"""A terminal that is closed ends what runs in it as SIGTERM does: what is open may finish."""

from __future__ import annotations

import signal


def end_at_hangup() -> None:
    """Take SIGHUP for SIGTERM; `nohup`, which has it ignored, keeps its word. For the main thread."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
