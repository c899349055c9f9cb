"""Processes of a pool that are played by a test."""

from __future__ import annotations

import queue
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from engine.parallel.channel import Channel
from models.pool import device as device_module
from models.pool.member import Launch, Member
from models.pool.wire import Kind, Record, error_record, pack, unpack
from models.speech import ModelInfo
from models.voxcpm.pool.pool import DevicePool

INFO = ModelInfo("tiny", "r", 16000, 960, 2, 8, 16000)


class Player:
    """The inside of one process."""

    def __init__(self) -> None:
        own, theirs = socket.socketpair()
        self.process = subprocess.Popen(["sleep", "600"])
        self.channel, self.outside = Channel(theirs), Channel(own)

    def asked(self) -> dict[str, Any]:
        """What it is asked for next."""
        (record,) = unpack(self.channel.receive())
        return record

    def answer(self, asked: Record, error: Exception | None = None, **result: Any) -> None:
        if error is not None:
            result = {"error": error_record(error)}
        self.channel.send(Kind.RESULT, *pack([{"call": asked["call"], **result}]))

    def put(self, *records: Record) -> None:
        self.channel.send(Kind.OUTPUTS, *pack(records))

    def die(self) -> None:
        self.process.kill()
        self.channel.close()


class Players:
    """All that were started, one after the other."""

    def __init__(self) -> None:
        self.all: list[Player] = []
        self._new: queue.SimpleQueue[Player] = queue.SimpleQueue()

    def start(self, module: str) -> tuple[subprocess.Popen, Channel]:
        player = Player()
        self.all.append(player)
        self._new.put(player)
        return player.process, player.outside

    def next(self) -> Player:
        """The next one that is started."""
        return self._new.get(timeout=60)

    def pool(self, count: int) -> DevicePool:
        """Of so many devices that have loaded, `next` gives the process of each."""
        launches = [Launch(f"cuda:{number}", "", "child", None, {}) for number in range(count)]
        return DevicePool([Member(launch, launch.start()) for launch in launches], INFO.to_dict())


@pytest.fixture
def players(monkeypatch: pytest.MonkeyPatch) -> Iterator[Players]:
    found = Players()
    monkeypatch.setattr(device_module, "start_process", found.start)
    yield found
    for player in found.all:
        player.die()
        player.process.wait()


def output(request_id: str, index: int, **more: Any) -> dict[str, Any]:
    audio = np.full(4, index, np.float32)
    return {"request_id": request_id, "index": index, "audio": audio, "latents": audio.reshape(2, 2), **more}


def ended(request_id: str) -> dict[str, Any]:
    return {"request_id": request_id, "ended": True, "error": None}
