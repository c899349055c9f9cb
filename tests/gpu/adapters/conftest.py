"""Engines that take adapters, made once for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.voxcpm import checkpoint as checkpoint_module
from models.voxcpm import engine as engine_module
from models.voxcpm import runner as runner_module
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import VoxCPMEngine
from tests.gpu.adapters.adapted import OPTIONS, Engines
from tests.gpu.device import CUDA, DEVICE


@pytest.fixture(scope="module")
def engines(tiny: Path) -> Iterator[Engines]:
    """Engines of fused layers, on a CPU too; those of the same options are one."""
    with pytest.MonkeyPatch.context() as patched:
        if not CUDA:
            from models.voxcpm.fused.model import fuse_model

            patched.setattr(checkpoint_module, "pack_model", lambda model, _: fuse_model(model))
            for module in (engine_module, runner_module):
                patched.setattr(module, "runs_triton", lambda device: True)
        made: dict[tuple[object, ...], VoxCPMEngine] = {}

        def make(dtype: torch.dtype = torch.float32, own: str = "", **changes: object) -> VoxCPMEngine:
            key = (dtype, own, *sorted(changes.items()))
            if key not in made:
                checkpoint = load_checkpoint(tiny, str(DEVICE), dtype=dtype)
                made[key] = VoxCPMEngine(checkpoint, replace(OPTIONS, **changes))
            made[key].adapters.clear()
            return made[key]

        yield make
        for engine in made.values():
            engine.close()
