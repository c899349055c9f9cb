"""What every test shares: a deterministic hypothesis profile, and an environment without settings of ours.

`HYPOTHESIS_PROFILE=search` looks for new counterexamples instead of repeating the known walk.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from engine.cpu.cpus import give_way_while_waiting
from tests import fresh_reruns, left_behind

settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", parent=settings.get_profile("suite"), derandomize=False, max_examples=2000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

# Without a GPU, Triton kernels run in Triton's interpreter, which has to be known before Triton is imported.
if not Path("/dev/nvidia0").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# A shell has what runs in its background ignore Ctrl-C, and so would what tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tracebacks without the values of variables, which take seconds to write for an application.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)

give_way_while_waiting()  # threads of tests, too: they starve each other on a busy computer


def hasten_kernels() -> None:
    """For tests that run kernels without a GPU; importing Triton costs the others a second."""
    if os.environ.get("TRITON_INTERPRET") == "1" and importlib.util.find_spec("triton"):
        from tests.interpreter import hasten

        hasten()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay, so nothing looks for garbage among them: neither here, where they come by the
    million, nor later, when engines ask for a whole collection before they record. Whole collections come a
    fifteenth as often as usual."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(2000, 10, 50)
        gc.enable()


_FLEET_SECONDS, _APART = 600, 6
"""A file with such a bound starts many processes. So many files lie between two of them, or they starve each
other."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the files out, those with the longest bounds come first, so that none is
    left to run alone in the end."""
    if hasattr(config, "workerinput"):
        bounds: dict[Path, float] = {item.path: 0.0 for item in items}
        for item in items:
            if bound := item.get_closest_marker("timeout"):
                bounds[item.path] = max(bounds[item.path], bound.args[0])
        files = sorted(bounds, key=lambda path: -bounds[path])
        fleets = sum(bounds[path] >= _FLEET_SECONDS for path in files)
        order = files[fleets:]
        for number, path in enumerate(files[:fleets]):
            order.insert(number * _APART, path)
        place = {path: number for number, path in enumerate(order)}
        items.sort(key=lambda item: place[item.path])


pytest_runtest_protocol = left_behind.pytest_runtest_protocol
pytest_runtest_teardown = left_behind.pytest_runtest_teardown
pytest_runtest_setup = fresh_reruns.pytest_runtest_setup
if importlib.util.find_spec("fastapi"):  # machines with a GPU may lack it, where kernels alone are tested
    from tests import app_routes, empty_databases, tls_context

    tls_context.share()
    app_routes.share()
    empty_databases.share()
for name in [name for name in os.environ if name.startswith("VOXFLEET_")]:
    del os.environ[name]

# Gateways of tests that name no data folder share one that goes with the run.
_data = tempfile.TemporaryDirectory(prefix="voxfleet-tests-", ignore_cleanup_errors=True)
os.environ["VOXFLEET_DATA_DIR"] = _data.name
# Which extras are installed changes no test: one that wants an aligner names it.
os.environ["VOXFLEET_ALIGNER"] = "off"
