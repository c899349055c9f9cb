"""The process of one device: `python -m models.llm.pool.child FD`, started by `models/pool/device.py`."""

from __future__ import annotations

import sys

from engine.parallel.follower import Follower, follow


def serve(follower: Follower) -> None:
    """Load and answer as the pool says, until it ends."""
    from models.llm.pool.serving import TextServing  # takes seconds, and Ctrl-C is put aside by now

    TextServing(follower).run()


if __name__ == "__main__":
    follow(int(sys.argv[1]), serve)
