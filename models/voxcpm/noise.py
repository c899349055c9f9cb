"""The Gaussian noise a patch starts from: a function of (seed, patch index) alone.

Neither the batch, the device nor what was generated before enters, so a request sounds the same
whatever runs beside it, and another machine can continue it from any patch.
"""

from __future__ import annotations

import numpy as np

from models.keyed_random import keyed_generator


def patch_noise(seed: int, index: int, patch_size: int, feat_dim: int) -> np.ndarray:
    """Standard normal float32 [patch_size, feat_dim] for patch `index` of a request with `seed`.

    Philox counter-based generator (Salmon et al. 2011), keyed by both numbers; seed in 0 .. 2**64 - 1.
    """
    return keyed_generator(seed, index).standard_normal((patch_size, feat_dim), dtype=np.float32)
