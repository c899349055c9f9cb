"""What adapters add to a product, apart from it, for the kernel behind the product to add.

What is added depends on the product's input alone. So it is made before the product or beside it, and norms
and the gate, which read the product anyway, read it too: `around.apart` makes it, and

    hidden, normed = add_and_norm(parts, residual, norm, eps, alpha, delta)

adds it. Rows of entries without an adapter are not written, and not read. They keep every bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.low_rank.slots import LowRankRows, turn_of


@dataclass(frozen=True)
class Delta:
    """values [rows, outputs]: there for rows of entries with an adapter, else anything."""

    values: Tensor
    rows: LowRankRows

    def told(self) -> dict[str, Any]:
        """The arguments of a kernel that adds it."""
        repeat = self.rows.repeat(len(self.values))
        entries = self.rows.num_entries
        return {"delta": self.values, "turns": self.rows.turns, "num_entries": entries, "REPEAT": repeat}


NO_DELTA: dict[str, Any] = {"delta": None, "turns": None, "num_entries": None, "REPEAT": 0}
"""What it is told where nothing is added."""


@triton.jit
def has_adapter(turns, row, num_entries, REPEAT: tl.constexpr):
    """Whether the entry of a row has one. Nobody writes `turns` meanwhile."""
    turn, _ = turn_of(turns, row // REPEAT % num_entries, num_entries)
    return turn >= 0
