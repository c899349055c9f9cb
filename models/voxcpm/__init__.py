"""VoxCPM: text to speech, autoregressive over patches of audio latents.

`from models.voxcpm import VoxCPM` gives the engine as a Python object; the import itself is light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.cpus import bound_shape_caches, give_way_while_waiting

give_way_while_waiting()
bound_shape_caches()

if TYPE_CHECKING:
    from models.voxcpm.api import VoxCPM

__all__ = ["VoxCPM"]


def __getattr__(name: str) -> Any:
    if name == "VoxCPM":
        from models.voxcpm.api import VoxCPM

        return VoxCPM
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
