"""Fleet files."""

from __future__ import annotations

import textwrap
from pathlib import Path


def written(text: str, folder: Path) -> Path:
    path = folder / "fleet.yaml"
    path.write_text(textwrap.dedent(text))
    return path
