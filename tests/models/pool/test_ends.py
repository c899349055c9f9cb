"""However a device, a load or the pool itself ends: who waits is told why, and no process stays."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from engine.errors import DeviceLostError, EngineError
from engine.parallel.channel import Channel
from models.config_fields import ConfigError
from models.voxcpm import VoxCPM
from models.voxcpm.pool import device as device_module
from models.voxcpm.pool.wire import Kind, pack
from tests.engine.parallel.processes import is_running
from tests.models.lora.conftest import CHECKPOINT

ENDLESS = {"text": "hello again", "min_seconds": 60.0}


def pids_of(pool: VoxCPM) -> list[int]:
    return [device._process.pid for device in pool._engine._devices]


def test_a_process_that_dies_fails_its_requests_and_the_others_go_on_until_they_are_closed() -> None:
    pool = VoxCPM.from_pretrained(str(CHECKPOINT), devices=["cpu", "cpu"], silence_guard=False)
    stays, goes = (pool.generate(**ENDLESS).outputs() for _ in range(2))
    next(stays), next(goes)
    pids = pids_of(pool)
    os.kill(pids[1], signal.SIGKILL)
    with pytest.raises(DeviceLostError, match=r"^device cpu \(2 of 2\) is lost: .* died, signal 9$"):
        list(goes)
    assert np.isfinite(next(stays).audio).all()
    beside = [pool.generate(**ENDLESS) for _ in range(2)]
    assert [device.load[0] for device in pool._engine._devices] == [3, 0]
    pool.set_lora_enabled(True)
    assert is_running(pids[0])
    pool.close()
    assert not any(map(is_running, pids))
    for stream in (stays, *beside):
        with pytest.raises(EngineError, match="the engine loop is closed"):
            list(stream)
    for ask in (lambda: pool.generate("hello"), pool.reset_lora):
        with pytest.raises(EngineError, match="the engine loop is closed"):
            ask()
    pool.close()


def test_a_load_that_fails_says_so_as_it_does_alone_and_where(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.json") as alone:
        VoxCPM.from_pretrained(str(tmp_path), device="cpu")
    with pytest.raises(ConfigError) as raised:
        VoxCPM.from_pretrained(str(tmp_path), devices=["cpu"])
    assert str(raised.value) == str(alone.value) and raised.value.__notes__ == ["on device cpu"]


def test_a_load_that_is_broken_off_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of processes that are played; the first one tells how far it is."""
    started: list[tuple[subprocess.Popen, Channel]] = []

    def start(module: str) -> tuple[subprocess.Popen, Channel]:
        own, theirs = socket.socketpair()
        started.append((subprocess.Popen(["sleep", "600"]), Channel(theirs)))
        if len(started) == 1:
            started[0][1].send(Kind.PROGRESS, *pack([{"stage": "weights", "share": 0.5}]))
        return started[-1][0], Channel(own)

    def interrupt(stage: str, share: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(device_module, "start_process", start)
    with pytest.raises(KeyboardInterrupt):
        VoxCPM.from_pretrained(str(CHECKPOINT), devices=["cpu", "cpu"], progress=interrupt)
    assert [process.returncode for process, _ in started] == [-9, -9]
    for _, channel in started:
        channel.close()


SPEAKING = f"""
from models.voxcpm import VoxCPM
voice = VoxCPM.from_pretrained({str(CHECKPOINT)!r}, devices=["cpu"], silence_guard=False)
for number, _ in enumerate(voice.generate("hello again", min_seconds=600.0)):
    if number == 0:
        print(*(device._process.pid for device in voice._engine._devices), flush=True)
"""


LOADING = """
from engine.parallel.process import start_process
process, channel = start_process("models.voxcpm.pool.child")
channel.receive()
print(process.pid, flush=True)
process.wait()
"""


@pytest.mark.parametrize(("program", "sign"), [(LOADING, signal.SIGKILL), (SPEAKING, signal.SIGINT)])
def test_no_process_outlives_its_program_and_ctrl_c_is_for_that_alone(
    program: str, sign: signal.Signals
) -> None:
    command = [sys.executable, "-c", program]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, start_new_session=True) as process:
        pid = int(process.stdout.readline())
        assert is_running(pid)
        if sign == signal.SIGINT:
            os.killpg(process.pid, sign)  # as a terminal does
        else:
            process.kill()
        told = process.stderr.read()  # to its end, which is that of both
    deadline = time.monotonic() + 30
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(pid)
    assert told.count("Traceback") == (sign == signal.SIGINT)
