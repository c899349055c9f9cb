"""However a device, a load or the pool itself ends: who waits is told why, and no process stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from engine.errors import EngineError
from models.config_fields import ConfigError
from models.lora.files import write_adapter
from models.pool import member as member_module
from models.pool.device import DeviceProcess
from models.pool.member import DeviceState
from models.pool.pool import idlest
from models.pool.wire import Kind, pack
from models.voxcpm import VoxCPM
from tests.engine.parallel.processes import is_running
from tests.models.conftest import assert_close
from tests.models.lora.conftest import CHECKPOINT, LORA, random_adapter
from tests.models.pool.conftest import Players

ENDLESS = {"text": "hello again", "min_seconds": 60.0}


def processes_of(pool: VoxCPM) -> list[DeviceProcess]:
    return [member.process for member in pool._engine._devices]


def pids_of(pool: VoxCPM) -> list[int]:
    return [process._process.pid for process in processes_of(pool)]


def test_what_a_process_that_dies_has_spoken_goes_on_elsewhere_and_it_is_started_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(member_module, "FIRST_PAUSE_SECONDS", 0.0)
    write_adapter(tmp_path, random_adapter(1), LORA)
    options = {"seed": 5, "min_seconds": 1.0, "max_seconds": 1.0}
    with VoxCPM.from_pretrained(str(CHECKPOINT), devices=["cpu", "cpu"], silence_guard=False) as pool:
        pool.load_lora(tmp_path)
        expected = pool.synthesize("hello again", **options)
        clip = iter(pool.generate("hello again", **options))
        heard = [next(clip)]
        os.kill(pids_of(pool)[0], signal.SIGKILL)
        audio = np.concatenate([*heard, *clip])
        assert_close(audio, expected, 1e-4)
        pool._engine._devices[0]._thread.join(100)
        assert pool.devices == [DeviceState(f"cpu ({number} of 2)", "serving") for number in (1, 2)]
        assert idlest(pool._engine._serving()) is processes_of(pool)[0]
        assert np.array_equal(pool.synthesize("hello again", **options), expected)


def test_all_that_a_pool_has_ends_with_it() -> None:
    pool = VoxCPM.from_pretrained(str(CHECKPOINT), devices=["cpu", "cpu"], silence_guard=False)
    pids, streams = pids_of(pool), [pool.generate(**ENDLESS) for _ in range(3)]
    assert [process.load[0] for process in processes_of(pool)] == [2, 1]
    next(streams[0].outputs())
    pool.close()
    assert not any(map(is_running, pids))
    for stream in streams[1:]:
        with pytest.raises(EngineError, match="the engine loop is closed"):
            list(stream)
    for ask in (lambda: pool.generate("hello"), pool.reset_lora):
        with pytest.raises(EngineError, match="the engine loop is closed"):
            ask()
    pool.close()


def test_a_pool_ends_once_nobody_holds_it_or_a_stream_of_it() -> None:
    pool = VoxCPM.from_pretrained(str(CHECKPOINT), devices=["cpu", "cpu"], silence_guard=False)
    processes = [device._process for device in processes_of(pool)]
    stream = pool.generate("hello again", seed=1)
    del pool
    assert sum(map(len, stream))
    del stream
    assert [process.wait(60) for process in processes] == [0, 0]


def test_a_load_that_fails_says_so_as_it_does_alone_and_where(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.json") as alone:
        VoxCPM.from_pretrained(str(tmp_path), device="cpu")
    with pytest.raises(ConfigError) as raised:
        VoxCPM.from_pretrained(str(tmp_path), devices=["cpu"])
    assert str(raised.value) == str(alone.value) and raised.value.__notes__ == ["on device cpu"]


def test_a_load_that_is_broken_off_ends_all(players: Players) -> None:
    def interrupt(stage: str, share: float) -> None:
        raise KeyboardInterrupt

    def begin() -> None:
        players.next().channel.send(Kind.PROGRESS, *pack([{"stage": "weights", "share": 0.5}]))

    threading.Thread(target=begin, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        VoxCPM.from_pretrained(str(CHECKPOINT), devices=["cpu", "cpu"], progress=interrupt)
    assert [player.process.returncode for player in players.all] == [-9, -9]


SPEAKING = f"""
from models.voxcpm import VoxCPM
voice = VoxCPM.from_pretrained({str(CHECKPOINT)!r}, devices=["cpu"], silence_guard=False)
for number, _ in enumerate(voice.generate("hello again", min_seconds=600.0)):
    if number == 0:
        print(*(device.process._process.pid for device in voice._engine._devices), flush=True)
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
