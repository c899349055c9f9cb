"""Results of several runs in one file, beside the benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def kept(file: Path) -> dict[str, Any]:
    """What is there; nothing before the first run."""
    return json.loads(file.read_text()) if file.exists() else {}


def keep(file: Path, results: dict[str, Any], indent: int = 1) -> None:
    """In the place of what is there."""
    file.write_text(json.dumps(results, indent=indent) + "\n")
