"""The process of one device: `python -m models.voxcpm.pool.child FD`, started by `models/pool/device.py`."""

from __future__ import annotations

import sys

from engine.parallel.follower import Follower, follow


def serve(follower: Follower) -> None:
    """Load and speak as the pool says, until it ends."""
    from models.voxcpm.pool.serving import SpeechServing  # takes seconds, and Ctrl-C is put aside by now

    SpeechServing(follower).run()


if __name__ == "__main__":
    follow(int(sys.argv[1]), serve)
