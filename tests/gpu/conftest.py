"""A small checkpoint with random weights, made once for the tests of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.gpu.checkpoints import make_checkpoint


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint("tiny", tmp_path_factory.mktemp("checkpoints"))
