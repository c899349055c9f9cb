"""What every test shares: a deterministic hypothesis profile, and an environment without settings of ours.

`HYPOTHESIS_PROFILE=search` looks for new counterexamples instead of repeating the known walk.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import fresh_reruns, tls_context

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


def hasten_kernels() -> None:
    """For tests that run kernels without a GPU; importing Triton costs the others a second."""
    if os.environ.get("TRITON_INTERPRET") == "1" and importlib.util.find_spec("triton"):
        from tests.interpreter import hasten

        hasten()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the files out, those with the longest bounds come first, so that none is
    left to run alone in the end."""
    if hasattr(config, "workerinput"):
        bounds: dict[Path, float] = {}
        for item in items:
            if bound := item.get_closest_marker("timeout"):
                bounds[item.path] = max(bounds.get(item.path, 0.0), bound.args[0])
        items.sort(key=lambda item: -bounds.get(item.path, 0.0))


pytest_runtest_setup = fresh_reruns.pytest_runtest_setup
tls_context.share()
for name in [name for name in os.environ if name.startswith("VOXFLEET_")]:
    del os.environ[name]

# Gateways of tests that name no data folder share one that goes with the run.
_data = tempfile.TemporaryDirectory(prefix="voxfleet-tests-", ignore_cleanup_errors=True)
os.environ["VOXFLEET_DATA_DIR"] = _data.name
# Which extras are installed changes no test: one that wants an aligner names it.
os.environ["VOXFLEET_ALIGNER"] = "off"
