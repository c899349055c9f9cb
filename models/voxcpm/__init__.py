"""VoxCPM: text to speech, autoregressive over patches of audio latents.

`from models.voxcpm import VoxCPM` gives the engine as a Python object; the import itself is light.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("GOMP_SPINCOUNT", "10000")
"""How long PyTorch's CPU threads spin for each other, read when torch is first imported. The library's
default is so long that one busy neighbour on a small machine makes a step a hundred times slower."""

if TYPE_CHECKING:
    from models.voxcpm.api import VoxCPM

__all__ = ["VoxCPM"]


def __getattr__(name: str) -> Any:
    if name == "VoxCPM":
        from models.voxcpm.api import VoxCPM

        return VoxCPM
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
