"""What stands for a driver's launchers where there is no device, in processes that compile, too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


class Launcher:
    """Leaves a file beside the binaries for each kernel that it would launch."""

    def __init__(self, source: Any, metadata: Any) -> None:
        Path(os.environ["TRITON_CACHE_DIR"], f"{metadata.name}-{metadata.hash}.launcher").touch()
