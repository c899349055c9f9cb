"""What belongs to the whole process is after a file of tests as it was before.

Several processes share the files out (`run_tests.sh`): what one leaves behind meets another one in one run,
and none in the next.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE)
_found: dict[Path, dict[str, object]] = {}
"""By the file whose tests run."""
_threads: dict[Path, int] = {}
"""Of PyTorch, as the file found them."""


def _state() -> dict[str, object]:
    torch = sys.modules.get("torch")
    return {
        **{f"the handler of {one.name}": signal.getsignal(one) for one in _SIGNALS},
        **{f"the variable {name}": os.environ[name] for name in os.environ if name != "PYTEST_CURRENT_TEST"},
        "the working directory": os.getcwd(),
        "the level of logging": (logging.root.level, logging.root.manager.disable),
        "the type of numbers": str(torch.get_default_dtype()) if torch else "torch.float32",
        "whether sums are repeated": torch is not None and torch.are_deterministic_algorithms_enabled(),
    }


def _changed(found: dict[str, object]) -> dict[str, object]:
    """What is otherwise. Variables that are new are a library's that was imported, unless they are ours."""
    now = _state()
    ours = {name for name in now if name.startswith("the variable VOXFLEET_")}
    return {name: now.get(name) for name in sorted(found.keys() | ours) if now.get(name) != found.get(name)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Each file leaves the number of PyTorch's threads that it found: an engine that a test steps itself sets
    it, and others would take it for the computer's. The engines of a file have theirs from test to test."""
    torch = sys.modules.get("torch")
    if item.path not in _found:
        _found.clear()
        _threads.clear()
        _found[item.path] = _state()
        if torch:
            _threads[item.path] = torch.get_num_threads()
    result = yield
    if nextitem is None or nextitem.path != item.path:
        threads = _threads.get(item.path)
        if threads and torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """A test that takes Ctrl-C away fails itself; for whatever else is left, the last one of its file."""
    yield
    left = signal.signal(signal.SIGINT, signal.default_int_handler)
    if left is not signal.default_int_handler:
        pytest.fail(f"it leaves SIGINT to {left}", pytrace=False)
    if (nextitem is None or nextitem.path != item.path) and (changed := _changed(_found[item.path])):
        pytest.fail(f"this file leaves behind {changed}", pytrace=False)
