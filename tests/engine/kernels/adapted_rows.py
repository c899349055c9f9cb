"""Rows of products with adapters, for tests of which kernel serves them."""

from __future__ import annotations

import numpy as np
import torch

from engine.kernels.low_rank.slots import LowRankRows, LowRankSlots, Zeros, signals
from engine.layers.low_rank import LowRankPlace, turns_of

CPU = torch.device("cpu")
H200, MOST_SHARED = 132, 232448 - 2048
"""Its processors, and the bytes of shared memory that a program may have there."""


def rows_of(place: LowRankPlace, streams: int = 64, rank: int = 32, branches: int = 2) -> LowRankRows:
    storage = torch.zeros(1, place.up + sum(place.outputs) * rank)
    turns = torch.from_numpy(turns_of(np.full(streams, -1, np.int32)))
    return LowRankRows(LowRankSlots(storage, place, rank, signals(CPU)), turns, Zeros(CPU), branches)
