"""Compiles all kernels of a computation before it first runs, by several processes.

An engine launches some hundred forms of its kernels; one after the other they would take minutes to compile.
So the computation is rehearsed once, every launch of a kernel that is not compiled being noted and left out.
Processes compile what is noted into Triton's cache on disk while the rehearsal goes on, and the real run
takes it from there:

    compile_ahead(rehearse, "what decides which kernels there are")

Later starts find a marker beside the cache and rehearse nothing.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import torch
import triton
import xxhash
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from engine.cpu.cpus import available_cpus
from engine.device.devices import on_device

logger = logging.getLogger(__name__)

MAX_PROCESSES = 16
"""Each takes some hundred megabytes of memory."""
WORTH_PROCESSES = 8
"""Fewer kernels are compiled where they are used."""
LAUNCHERS_IN_C = tuple(map(int, triton.__version__.split(".")[:2])) < (3, 7)
"""Whether Triton launches kernels of each signature by a C function of its own. A C compiler takes 0.3 s for
one, and there are some thirty."""
Kernel = tuple[str, str, str]
"""Module, name, and what Triton needs to compile this form of it."""
Report = Callable[[float], None]
Launcher = Callable[[Any, Any], object]


def compile_ahead(
    rehearse: Callable[[], object],
    key: str,
    report: Report = lambda share: None,
    device: torch.device | None = None,
) -> int:
    """Compile what `rehearse` would launch; results of the rehearsal mean nothing. How many were compiled.

    Args:
        key: names everything that `rehearse` depends on but the code itself, the device and the versions.
        report: is told what part is compiled, 0 to 1, after the rehearsal.
        device: on which `rehearse` launches; None: the current one.
    """
    with nullcontext() if device is None else on_device(device):
        return _compile_ahead(rehearse, key, report, device)


def _compile_ahead(
    rehearse: Callable[[], object], key: str, report: Report, device: torch.device | None
) -> int:
    marker = Path(knobs.cache.dir) / f"voxfleet-{_digest(key, device)}.compiled"
    if marker.exists():
        return 0
    began = time.perf_counter()
    with Compilers() as compilers:
        try:
            with noted(compilers.take) as kernels:
                rehearse()
        except (RuntimeError, TypeError, ValueError) as error:
            logger.warning("kernels will be compiled where they are used: %r", error)
            return 0
        torch.cuda.synchronize(device)
        if not compilers.finish(report):
            return 0
    if len(kernels) >= WORTH_PROCESSES:
        seconds = time.perf_counter() - began
        logger.info("compiled %d kernels in %.1f s into %s", len(kernels), seconds, knobs.cache.dir)
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    except OSError as error:
        logger.warning("later starts will look for kernels to compile again: %s", error)
    return len(kernels)


class _Nothing:
    """What Triton launches in place of a kernel that is noted. Triton would describe it anew for each launch,
    which takes ten times as long as one: a rehearsal of VoxCPM2 has some 50,000."""

    function = packed_metadata = None

    def launch_metadata(self, *_: Any) -> None:
        """None is told to hooks."""

    def run(self, *_: Any) -> None:
        """Launches nothing."""


NOTHING = _Nothing()


@contextmanager
def noted(take: Callable[[Kernel], None]) -> Iterator[set[Kernel]]:
    """Launches of kernels that this process has not compiled yet are left out; `take` gets each form once."""
    kernels: set[Kernel] = set()
    left_out: list[tuple[dict[Any, Any], Any]] = []

    def note(*, fn: Any, key: Any, compile: dict[str, Any], **_: Any) -> bool:
        kernel = (fn.module, fn.jit_function.fn.__qualname__, compile["specialization_data"])
        if kernel not in kernels:
            kernels.add(kernel)
            take(kernel)
        of_process = fn.jit_function.device_caches[compile["device"]][0]
        of_process[key] = NOTHING
        left_out.append((of_process, key))
        return True

    before = knobs.runtime.jit_cache_hook
    knobs.runtime.jit_cache_hook = note
    try:
        yield kernels
    finally:
        knobs.runtime.jit_cache_hook = before
        for of_process, key in left_out:
            of_process.pop(key, None)


class Compilers:
    """Processes that compile what they are given, once there is enough to be worth them.

    They know what they compile for and have nothing to do with the device itself.
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._waiting: list[Kernel] = []
        self._compiled: dict[Future[None], Kernel] = {}
        self._failure: Exception | None = None

    def __enter__(self) -> Compilers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=self._failure is None, cancel_futures=True)

    def take(self, kernel: Kernel) -> None:
        """Compile this one, too; of the processes' failures `finish` tells."""
        self._waiting.append(kernel)
        if self._failure is not None or (self._pool is None and len(self._waiting) < WORTH_PROCESSES):
            return
        try:
            if self._pool is None:
                self._pool = _processes()
            with _without_main():
                while self._waiting:
                    kernel = self._waiting.pop()
                    self._compiled[self._pool.submit(_compile, kernel)] = kernel
        except (OSError, BrokenProcessPool) as error:
            self._failure = error

    def finish(self, report: Report) -> bool:
        """Wait for what was given; whether processes did it. Kernels that fail are only logged."""
        for done, future in enumerate(as_completed(self._compiled), start=1):
            if error := future.exception():
                module, name, _ = self._compiled[future]
                problem = f"{type(error).__name__}: {error}"
                logger.warning("%s.%s was not compiled ahead: %s", module, name, problem)
            report(done / len(self._compiled))
        if self._failure is not None:
            logger.warning("no processes to compile kernels ahead: %r", self._failure)
        return self._failure is None


class _Device:
    """What Triton asks of a driver before it launches: here, of a device that need not be there."""

    def __init__(self, target: GPUTarget, launcher_cls: Launcher) -> None:
        self._target = target
        self.launcher_cls = launcher_cls

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0


def _processes() -> ProcessPoolExecutor:
    """Raises OSError where there is no room for them."""
    logger.info("compiling kernels, which later starts will find in %s", knobs.cache.dir)
    return ProcessPoolExecutor(
        min(MAX_PROCESSES, available_cpus()),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_compile_for,
        initargs=(driver.active.get_current_target(), driver.active.launcher_cls),
    )


def _compile_for(target: GPUTarget, launcher_cls: Launcher) -> None:
    """Makes a process one that compiles, and that ends when the one that began it has, however that did."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the engine's process decides
    Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()
    driver.set_active(_Device(target, launcher_cls))


def _end_with(process: BaseProcess) -> None:
    process.join()
    os._exit(1)


def _compile(kernel: Kernel) -> None:
    module, name, form = kernel
    compiled = getattr(import_module(module), name).preload(form)
    if LAUNCHERS_IN_C:
        driver.active.launcher_cls(compiled.src, compiled.metadata)


@contextmanager
def _without_main() -> Iterator[None]:
    """Processes that are begun meanwhile leave alone the program that began them: a script that loads a model
    in its first line would load it once more in each."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _digest(key: str, device: torch.device | None) -> str:
    """A digest of the key, this package's and the models' source, the device and the versions."""
    digest = xxhash.xxh3_128(key.encode())
    root = Path(__file__).parents[2]
    for file in sorted([*root.glob("engine/**/*.py"), *root.glob("models/**/*.py")]):
        digest.update(file.read_bytes())
    about = (torch.cuda.get_device_name(device), torch.version.cuda, torch.__version__, triton.__version__)
    digest.update(repr(about).encode())
    return digest.hexdigest()
