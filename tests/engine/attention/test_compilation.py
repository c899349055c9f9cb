"""The Triton kernels pass the compiler for Hopper; what they compute is the conformance suite's matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.compiler import compiled


@pytest.mark.timeout(300)
def test_every_kernel_compiles_for_hopper(tmp_path: Path) -> None:
    lines = compiled("tests.engine.attention.compile_kernels", tmp_path)
    assert sum("bytes of shared memory" in line for line in lines) == 9
