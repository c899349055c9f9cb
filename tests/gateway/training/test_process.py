"""The process of a training ends with it."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE

import pytest

from gateway.training import process as process_module
from gateway.training.process import TrainingProcess

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(60)
"""


async def test_a_process_has_ended_however_often_its_end_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process_module, "_GRACE_SECONDS", 0.2)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STUBBORN, stdin=PIPE, stdout=PIPE, start_new_session=True
    )
    await process.stdout.readline()
    ending = asyncio.create_task(TrainingProcess(process).end())
    for _ in range(3):
        await asyncio.sleep(0.01)
        ending.cancel()
    await asyncio.wait({ending})
    alive = process.returncode is None
    if alive:
        process.kill()
    assert ending.cancelled() and not alive
