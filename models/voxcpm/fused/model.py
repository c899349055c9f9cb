"""The form of the network for inference on CUDA.

fuse_model(model)         # inference only
"""

from __future__ import annotations

from engine.kernels.linear.split_tiling import MAX_ROWS
from models.transformer.fused import fuse_layers
from models.voxcpm.fused.flow import FusedEncoder, FusedFlow
from models.voxcpm.fused.linear import fuse_linears
from models.voxcpm.model import VoxCPMModel


def fuse_model(model: VoxCPMModel, few_rows: int = MAX_ROWS) -> None:
    """Put the fused forms of layers, products, solver and encoder into `model`, which is on CUDA (or Triton
    runs its interpreter).

    The weights stay those of the model. Products of up to `few_rows` rows take the form for few rows where
    that pays.
    """
    patch_size = model.config.patch_size
    fuse_layers(model, few_rows)
    fuse_linears(model, few_rows)
    model.feat_encoder = FusedEncoder(model.feat_encoder, patch_size)
    model.dit.integrate = FusedFlow(model.dit, patch_size).integrate
