"""The form of the network for inference on CUDA.

fuse_model(model)         # inference only
"""

from __future__ import annotations

from models.voxcpm.fused_flow import FusedEncoder, FusedFlow
from models.voxcpm.fused_layer import fuse_layers
from models.voxcpm.model import VoxCPMModel


def fuse_model(model: VoxCPMModel) -> None:
    """Put fused layers, solver and encoder into `model`, which is on CUDA (or Triton runs its interpreter).

    The weights stay those of the model.
    """
    patch_size = model.config.patch_size
    fuse_layers(model)
    model.feat_encoder = FusedEncoder(model.feat_encoder, patch_size)
    model.dit.integrate = FusedFlow(model.dit, patch_size).integrate
