"""What is launched in a rehearsal is noted, left out and compiled, once."""

from __future__ import annotations

import json
from pathlib import Path

from tests.engine.compiler import compiled


def test_noted_kernels_are_compiled_once(tmp_path: Path) -> None:
    lines = compiled("tests.engine.kernels.compile_noted", tmp_path)
    assert json.loads(lines[-1]) == {"counts": [3, 0], "rehearsed": 1, "binaries": 3}
