"""The device that these tests are for.

Without CUDA they are skipped. `GPU_TESTS_DEVICE=cuda:1` runs them on the second GPU while the first one is
current. `GPU_TESTS_DEVICE=cpu TRITON_INTERPRET=1` runs them on the CPU nevertheless, few and small, with
programs that are not recorded: that shows that the tests work, not that a GPU does.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest
import torch

CUDA = torch.cuda.is_available()
DEVICE = torch.device(os.environ.get("GPU_TESTS_DEVICE") or "cuda") if CUDA else torch.device("cpu")
RECORDED = "auto" if CUDA else "static"
"""Value of `EngineOptions.graphs` with which steps run as programs, recorded ones where that can be."""
LARGEST_BATCH = 33 if CUDA else 2

needs_gpu = pytest.mark.skipif(
    not CUDA and os.environ.get("GPU_TESTS_DEVICE") != "cpu",
    reason="needs a CUDA device; scripts/gpu_tests.sh runs these where there is one",
)


def needs_packages(what: str, *modules: str) -> pytest.MarkDecorator:
    """Skips where one of `modules`, which `what` imports, is not installed, and says which."""
    missing = [module for module in modules if find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{what} needs {', '.join(missing)}")


needs_service = needs_packages(
    "a worker process",
    *("fastapi", "httpx", "sentencex", "soundfile", "soxr", "structlog", "uvicorn", "websockets", "yaml"),
)
