"""The linear layers beside the transformer stacks, for inference on CUDA.

A step of few streams has some ten of them, each of a row per stream, where the library's launches cost more
than what they do: there the product is `split_linear`'s, with the bias in it.

    fuse_linears(model)       # inference only
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from engine.kernels.linear.split_linear import fits, split_linear
from engine.kernels.linear.split_tiling import MAX_ROWS


class FusedLinear(nn.Linear):
    """Takes the place of `linear`, whose parameters it shares."""

    def __init__(self, linear: nn.Linear, few_rows: int = MAX_ROWS) -> None:
        super().__init__(linear.in_features, linear.out_features, linear.bias is not None, device="meta")
        self.weight, self.bias, self.few_rows = linear.weight, linear.bias, few_rows

    def forward(self, x: Tensor) -> Tensor:
        """x [..., in_features] -> [..., out_features]."""
        num_rows = x[..., 0].numel()
        if 0 < num_rows <= self.few_rows and fits(num_rows, self.weight):
            return split_linear(x.contiguous(), self.weight, bias=self.bias)
        return F.linear(x, self.weight, self.bias)


def fuse_linears(module: nn.Module, few_rows: int = MAX_ROWS) -> None:
    """Replace every linear layer below `module`, in place."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, FusedLinear(child, few_rows))
        else:
            fuse_linears(child, few_rows)
