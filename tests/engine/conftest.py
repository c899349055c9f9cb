"""A running engine loop over the fake model; a file with another engine overrides `engine`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.loop import EngineLoop
from tests.conftest import hasten_kernels
from tests.engine.stepping import Adapter

hasten_kernels()


@pytest.fixture
def engine() -> Adapter:
    return Adapter()


@pytest.fixture
def loop(engine: Adapter) -> Iterator[EngineLoop]:
    loop = EngineLoop(engine)
    loop.start()
    yield loop
    engine.gate.set()
    loop.close()
