"""Another process of ours: started with a channel to it, and how it ended."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from engine.parallel.channel import Channel

_ROOT = Path(__file__).resolve().parents[2]


def start_process(module: str) -> tuple[subprocess.Popen[bytes], Channel]:
    """`python -m module FD`, which calls `follower.follow`, and our end of the channel. Raises OSError."""
    own, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-P", "-m", module, str(theirs.fileno())]
        try:
            process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=_environment()
            )
        except BaseException:
            own.close()
            raise
    return process, Channel(own)


def how_it_ended(process: subprocess.Popen[bytes], limit_seconds: float) -> str:
    """As in "rank 1 died, signal 9": of a process whose channel is closed."""
    try:
        status = process.wait(limit_seconds)
    except subprocess.TimeoutExpired:
        return "closed its channel"
    return "died, " + (f"signal {-status}" if status < 0 else f"exit status {status}")


def _environment() -> dict[str, str]:
    """A child finds what this process has found, wherever it was started."""
    named = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys([str(_ROOT), *named]))}
