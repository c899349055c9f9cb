"""The device that these tests are for.

Without CUDA they are skipped. `GPU_TESTS_DEVICE=cuda:1` runs them on the second GPU while the first one is
current. `GPU_TESTS_DEVICE=cpu TRITON_INTERPRET=1` runs them on the CPU nevertheless, few and small, with
programs that are not recorded: that shows that the tests work, not that a GPU does.
"""

from __future__ import annotations

import os

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
