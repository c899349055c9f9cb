"""What is launched in a rehearsal is noted, left out and compiled, once."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch

from engine.kernels import ahead
from tests.engine.compiler import ROOT, compiled

UNGUARDED = """
import sys
from pathlib import Path
from triton.runtime import driver
from engine.kernels import ahead
from tests.engine.kernels.compiling.compile_noted import Hopper

with Path(sys.argv[1]).open("a") as runs:
    runs.write("run\\n")
driver.set_active(Hopper())
ahead.WORTH_PROCESSES = 1
with ahead.Compilers() as compilers:
    compilers.take(("engine.kernels.norms.norm", "absent_kernel", "{}"))
    print(compilers.finish(lambda share: None))
"""
ENDING = """
import os
import sys
from triton.runtime import driver
from engine.kernels import ahead
from tests.engine.kernels.compiling.compile_noted import Hopper

driver.set_active(Hopper())
ahead.WORTH_PROCESSES = 1
compilers = ahead.Compilers()
compilers.take(("engine.kernels.norms.norm", "absent_kernel", "{}"))
compilers.finish(lambda share: None)
print(*compilers._pool._processes, flush=True)
os._exit(0)
"""
KERNELS = [("engine.kernels.norms.norm", f"kernel_{i}", "{}") for i in range(ahead.WORTH_PROCESSES + 2)]


def test_noted_kernels_are_compiled_once(tmp_path: Path) -> None:
    lines = compiled("tests.engine.kernels.compiling.compile_noted", tmp_path)
    found = json.loads(lines[-1])
    assert found.pop("reported") == pytest.approx([1 / 3, 2 / 3, 1])
    launchers = 3 if found.pop("launchers_in_c") else 0
    assert found == {"counts": [3, 0], "described": 3, "binaries": 3, "launchers": launchers, "kept": 0}


def test_a_kernel_has_one_key_in_whatever_order_kernels_are_met(tmp_path: Path) -> None:
    (line,) = compiled("tests.engine.kernels.compiling.order_keys", tmp_path)
    found = json.loads(line)
    assert found["several"] == [] and found["functions"] > 40


def test_processes_that_compile_do_not_run_the_program_that_started_them(tmp_path: Path) -> None:
    script, runs = tmp_path / "speak.py", tmp_path / "runs"
    script.write_text(UNGUARDED)
    result = subprocess.run(
        [sys.executable, str(script), str(runs)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert runs.read_text() == "run\n" and result.stdout == "True\n"
    assert "absent_kernel" in result.stderr and "BrokenProcessPool" not in result.stderr


def test_processes_that_compile_end_with_the_one_that_began_them() -> None:
    """A worker that is restarted while it loads ends at once."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ENDING]
    result = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, timeout=120, check=True
    )
    processes = [psutil.Process(int(pid)) for pid in result.stdout.split() if psutil.pid_exists(int(pid))]
    assert result.stdout.split()
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert alive == []


def test_a_cache_that_cannot_be_written_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    without_a_device(monkeypatch)
    rehearsed: list[int] = []
    with caplog.at_level(logging.WARNING):
        assert ahead.compile_ahead(lambda: rehearsed.append(1), "work") == 0
    assert rehearsed == [1]
    assert str(tmp_path / "file" / "cache") in caplog.text


class NoRoom:
    """A pool that takes one piece of work, which it leaves undone, and none after it."""

    def __init__(self) -> None:
        self.given: list[Future[None]] = []

    def submit(self, *_: object) -> Future[None]:
        if self.given:
            raise BlockingIOError("no more processes")
        self.given.append(Future())
        self.given[-1].set_exception(BrokenProcessPool("it ended"))
        return self.given[-1]

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        assert not wait and cancel_futures


@pytest.mark.parametrize("begin", [NoRoom, lambda: (_ for _ in ()).throw(OSError("no memory"))])
def test_a_machine_without_room_for_processes_starts_all_the_same(
    begin: Callable[[], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    without_a_device(monkeypatch)
    monkeypatch.setattr(ahead, "_processes", begin)

    def rehearse() -> None:
        for module, name, form in KERNELS:
            hook = ahead.knobs.runtime.jit_cache_hook
            function = SimpleNamespace(fn=SimpleNamespace(__qualname__=name), device_caches=[({},)])
            launch = SimpleNamespace(module=module, jit_function=function)
            assert hook(fn=launch, compile={"specialization_data": form, "device": 0}, key="")

    with caplog.at_level(logging.WARNING):
        assert ahead.compile_ahead(rehearse, "work") == 0
    assert "no processes to compile kernels ahead" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_rehearsed_is_compiled_where_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    without_a_device(monkeypatch)

    def rehearse() -> None:
        raise RuntimeError("out of memory")

    with caplog.at_level(logging.WARNING):
        assert ahead.compile_ahead(rehearse, "work") == 0
    assert "out of memory" in caplog.text and ahead.knobs.runtime.jit_cache_hook is None


def without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_digest", lambda key, device: key)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
