"""What is compiled before a GPU's programs are recorded is what they launch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.voxcpm.checkpoint import BUNDLED_DIRECTORY
from tests.engine.compiler import ROOT, compiled

CHECKPOINTS = [ROOT / "tests/parity/tiny_v1", ROOT / "tests/parity/tiny_v2", BUNDLED_DIRECTORY]


@pytest.mark.parametrize("checkpoint", CHECKPOINTS, ids=lambda path: path.name)
def test_a_rehearsal_launches_every_form_of_every_kernel(checkpoint: Path, tmp_path: Path) -> None:
    lines = compiled("tests.models.programs.note_programs", tmp_path, str(checkpoint))
    alone, many = (json.loads(line) for line in lines if line.startswith("{"))
    assert alone["differing"] == 0 and alone["launched"] > 40
    assert many["differing"] == 0 and many["launched"] > alone["launched"]
    assert alone["other_steps"] == many["other_steps"] == 0
