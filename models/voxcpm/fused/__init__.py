"""VoxCPM's layers, solver and streaming VAE in the form for inference on CUDA, with the same weights.

`model.fuse_model` puts it into a model, `vae.FusedDecoder` takes the place of the streaming decoder. The
kernels are those of `engine.kernels`, and `flow_kernels` for what is VoxCPM's own.
"""

from __future__ import annotations

from importlib.util import find_spec

import torch


def served(device: torch.device) -> bool:
    """Whether these forms run on `device`: on CUDA where Triton is, which not every system has."""
    return device.type == "cuda" and find_spec("triton") is not None
