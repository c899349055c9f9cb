"""A rank without a model: answers what it is told, and fares in its steps as their number says."""

from __future__ import annotations

import os
import signal
import sys
import time

from engine.parallel.channel import Number
from engine.parallel.follower import Follower, follow

COMPUTE, HANG, RAISE, DIE, WORK = range(Number.FIRST_STEP, Number.FIRST_STEP + 5)
WORK_SECONDS = 1.8
"""Longer than a rank may stand still."""


def serve(follower: Follower) -> None:
    told = follower.told()
    if told.get("stays_away"):
        follower.answer("ready")
        raise RuntimeError("out of memory")
    follower.answer({"rank": told["rank"], "pid": os.getpid()})
    for message in follower.messages():
        if message.number == HANG:
            time.sleep(600)
        elif message.number == RAISE:
            raise ValueError("no such step")
        elif message.number == DIE:
            os.kill(os.getpid(), signal.SIGKILL)
        elif message.number == WORK:
            began = time.thread_time()
            while time.thread_time() - began < WORK_SECONDS:
                pass
            follower.answer("worked")
        else:
            follower.answer([message.first.hex(), message.second.hex()])


if __name__ == "__main__":
    follow(int(sys.argv[1]), serve)
