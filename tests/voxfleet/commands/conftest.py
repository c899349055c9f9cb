"""Commands that speak within the process of a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models.voxcpm import loading
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.vae.streaming_vae import StreamingDecoder
from tests.models.layers import built_once
from tests.voxfleet.commands.saying import TINY


@pytest.fixture(scope="package", autouse=True)
def _loaded_once() -> Iterator[None]:
    """The small checkpoint, which no command changes, and its decoder's layers: most of what a clip costs."""
    load, loaded = loading.load_over_ranks, []

    def load_once(directory: Path, *given: Any) -> Checkpoint:
        if directory.resolve() != TINY:
            return load(directory, *given)
        if not loaded:
            loaded.append(load(directory, *given))
        return loaded[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "load_over_ranks", load_once)
        patch.setattr(StreamingDecoder, "_build_layers", built_once())
        yield
