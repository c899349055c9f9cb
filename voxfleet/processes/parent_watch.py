"""A child process that never outlives its supervisor.

The supervisor holds the write end of the child's standard input and writes nothing to it. However the
supervisor ends, `SIGKILL` included, the kernel closes that end, the child reads end-of-file, and ends:
politely with `SIGTERM`, and when that takes too long without asking. `python -m
voxfleet.processes.parent_watch worker --port 22400` is `voxfleet worker --port 22400` with that watch.
"""

from __future__ import annotations

import os
import signal
import threading
import time

GRACE_SECONDS = 5.0


def exit_with_parent(grace_seconds: float = GRACE_SECONDS) -> None:
    """Starts the watch on standard input; call it first thing in the child, from any thread."""

    def watch() -> None:
        while os.read(0, 4096):
            continue
        discard_output()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(grace_seconds)
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def discard_output() -> None:
    """Points standard output and error at nothing: their reader is gone, no log line may break the end."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


if __name__ == "__main__":
    exit_with_parent()
    from voxfleet.cli import main

    main()
