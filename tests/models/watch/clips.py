"""Latents of clips that pass for speech, and what a watch is told of them."""

from __future__ import annotations

import numpy as np

PATCH_SECONDS, DIM, TOKENS = 0.08, 16, 40
PATCHES = 40


def good_speech(seed: int = 0, patches: int = PATCHES, noise: float = 0.8) -> np.ndarray:
    """Latents [n, 2, D] in which every frame follows from the one before it."""
    random = np.random.default_rng(seed)
    frames = [random.standard_normal(DIM)]
    for _ in range(2 * patches - 1):
        step = random.standard_normal(DIM)
        frames.append(np.sqrt(1 - noise**2) * frames[-1] + noise * step)
    return np.array(frames, np.float32).reshape(patches, 2, DIM)
