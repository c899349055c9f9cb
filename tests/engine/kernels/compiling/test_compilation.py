"""The fused kernels pass the compiler for Hopper, and each keeps the rule of `engine.kernels.launch`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.compiler import compiled


@pytest.mark.timeout(300)
def test_every_kernel_compiles_and_waits_before_it_writes(tmp_path: Path) -> None:
    lines = compiled("tests.engine.kernels.compiling.compile_kernels", tmp_path)
    assert len(lines) == 28
    assert all(line.endswith("_kernel waits 0 stores before") for line in lines), lines
