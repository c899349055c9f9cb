"""One checkpoint and one engine for the tests that need no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from models.llm import LLM
from tests.models.llm.checkpoints import make_checkpoint


@pytest.fixture(scope="session")
def checkpoint_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("qwen3")
    make_checkpoint(directory)
    return directory


@pytest.fixture
def llm(checkpoint_directory: Path) -> Iterator[LLM]:
    with LLM(str(checkpoint_directory), device="cpu", max_num_seqs=8) as llm:
        yield llm
