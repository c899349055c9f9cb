"""Compiles all kernels of a computation before it first runs, by several processes.

An engine launches some hundred forms of its kernels; one after the other they would take minutes to compile.
So the computation is rehearsed once, every launch of a kernel that is not compiled being noted and left out,
and what was noted is compiled side by side into Triton's cache on disk, from where the real run takes it:

    compile_ahead(rehearse, "what decides which kernels there are")

Later starts find a marker beside the cache and rehearse nothing.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import triton
import xxhash
from triton import knobs

logger = logging.getLogger(__name__)

MAX_PROCESSES = 12
"""Each takes a context on the device, some hundred megabytes, while it compiles."""
WORTH_PROCESSES = 8
"""Fewer kernels are compiled where they are used."""
Kernel = tuple[str, str, str]
"""Module, name, and what Triton needs to compile this form of it."""


def compile_ahead(rehearse: Callable[[], object], key: str) -> int:
    """Compile what `rehearse` would launch; results of the rehearsal mean nothing. How many were compiled.

    Args:
        key: names everything that `rehearse` depends on but the code itself, the device and the versions.
    """
    marker = Path(knobs.cache.dir) / f"voxfleet-{_digest(key)}.compiled"
    if marker.exists():
        return 0
    with noted() as kernels:
        try:
            rehearse()
        except (RuntimeError, TypeError, ValueError) as error:
            logger.warning("kernels will be compiled where they are used: %r", error)
            return 0
    torch.cuda.synchronize()
    if len(kernels) >= WORTH_PROCESSES:
        logger.info("compiling %d kernels, which later starts will find in %s", len(kernels), knobs.cache.dir)
        try:
            _compile_all(sorted(kernels))
        except OSError as error:
            logger.warning("no processes to compile kernels ahead: %r", error)
            return 0
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    except OSError as error:
        logger.warning("later starts will look for kernels to compile again: %s", error)
    return len(kernels)


@contextmanager
def noted() -> Iterator[set[Kernel]]:
    """Launches of kernels that this process has not compiled yet are noted and left out."""
    kernels: set[Kernel] = set()

    def note(*, fn: Any, compile: dict[str, Any], **_: Any) -> bool:
        kernels.add((fn.module, fn.jit_function.fn.__qualname__, compile["specialization_data"]))
        return True

    before = knobs.runtime.jit_cache_hook
    knobs.runtime.jit_cache_hook = note
    try:
        yield kernels
    finally:
        knobs.runtime.jit_cache_hook = before


def _compile_all(kernels: list[Kernel]) -> None:
    processes = min(MAX_PROCESSES, os.cpu_count() or 1, len(kernels))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        with _without_main():
            futures = {pool.submit(_compile, kernel): kernel for kernel in kernels}
        for future in as_completed(futures):
            if error := future.exception():
                module, name, _ = futures[future]
                logger.warning(
                    "%s.%s was not compiled ahead: %s: %s", module, name, type(error).__name__, error
                )


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


def _compile(kernel: Kernel) -> None:
    module, name, form = kernel
    getattr(import_module(module), name).preload(form)


def _digest(key: str) -> str:
    """Of the key, this package's and the models' source, the device and the versions."""
    digest = xxhash.xxh3_128(key.encode())
    root = Path(__file__).parents[2]
    for file in sorted([*root.glob("engine/**/*.py"), *root.glob("models/**/*.py")]):
        digest.update(file.read_bytes())
    about = (torch.cuda.get_device_name(), torch.version.cuda, torch.__version__, triton.__version__)
    digest.update(repr(about).encode())
    return digest.hexdigest()
