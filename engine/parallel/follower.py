"""The side of ranks above 0: does what rank 0 tells, and leaves with it.

def serve(follower: Follower) -> None:   # until the channel's end
    told = follower.told(); ...; follower.answer({...})
    for message in follower.messages(): ...

follow(int(sys.argv[1]), serve)
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from engine.parallel.channel import Array, Channel, ChannelClosedError, Message, Number
from engine.parallel.watch import BEAT_SECONDS, Pulse

if TYPE_CHECKING:
    from engine.parallel.group import Group


class Follower:
    """A rank above 0, its channel, and a thread that tells rank 0 that it lives.

    group: set it once it is there, so that its waiting is told, too.
    """

    def __init__(self, channel: Channel) -> None:
        self.group: Group | None = None
        self._channel, self._steps = channel, 0
        self._meeting_place: str | None = None
        self._parent = os.getppid()
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        threading.Thread(target=self._beat, name="beat", daemon=True).start()

    def told(self) -> dict[str, Any]:
        """What rank 0 tells next. Raises ChannelClosedError when that is the end."""
        message = self._channel.receive()
        if message.number != Number.TELL:
            raise ChannelClosedError("the end")
        told = message.json()
        if self._meeting_place is None:
            self._meeting_place = os.path.dirname(told["store"])
        return told

    def answer(self, value: Any) -> None:
        """Answer rank 0: what it asked for is done."""
        self._channel.send_json(Number.ANSWER, value)

    def send(self, number: int, first: Array, second: Array) -> None:
        """Send a message of the model's own, by its number; from any thread."""
        self._channel.send(number, first, second)

    def fail(self, reason: str) -> None:
        """Tell rank 0 that this rank ends, and why."""
        self._channel.send_json(Number.FAILED, reason)

    def messages(self) -> Iterator[Message]:
        """Steps as rank 0 gives them, and what it tells. A step is done when the next one is asked for."""
        while (message := self._channel.receive()).number != Number.END:
            yield message
            self._steps += message.number >= Number.FIRST_STEP

    def leave(self) -> None:
        """Remove the meeting place, in case that rank 0 has ended without doing so."""
        if self._meeting_place is not None:
            shutil.rmtree(self._meeting_place, ignore_errors=True)

    def _beat(self) -> None:
        """Ends the process when there is no rank 0 any more, whatever the other thread waits for."""
        while True:
            group = self.group
            exchanges, waiting = (group.exchanges, group.waiting) if group is not None else (0, False)
            pulse = Pulse(self._steps, exchanges, waiting, time.clock_gettime_ns(self._clock))
            try:
                self._channel.send(Number.BEAT, pulse.pack())
            except ChannelClosedError:
                self._exit()
            if os.getppid() != self._parent:
                self._exit()
            time.sleep(BEAT_SECONDS)

    def _exit(self) -> None:
        self.leave()
        os._exit(1)


def follow(descriptor: int, serve: Callable[[Follower], None]) -> None:
    """Run `serve` for rank 0 at the other end of a socket; what it raises is told there. Ends the process."""
    for sign in (signal.SIGINT, signal.SIGTERM):  # to a whole group; rank 0 ends this process
        signal.signal(sign, signal.SIG_IGN)
    follower = Follower(Channel(socket.socket(fileno=descriptor)))
    status = 0
    try:
        serve(follower)
    except ChannelClosedError:
        follower.leave()
    except Exception as error:
        traceback.print_exc()
        try:
            follower.fail(f"{type(error).__name__}: {error}")
        except ChannelClosedError:
            follower.leave()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)  # groups of NCCL whose recorded steps live on would wait for those
