"""A step that is computed as it comes, as two flat arrays: what other ranks are told of it.

    ints, values = pack(parts, noise)
    parts, noise = unpack(ints, values, (patch_size, feat_dim))       # the same step

Noise travels with it, so that whatever makes it is asked on rank 0 alone.
"""

from __future__ import annotations

import numpy as np

from models.voxcpm.requests.prompt import key_patches
from models.voxcpm.steps.step_ahead import Part, Wanted

AUDIO = -1
"""In the place of a token id."""
ROW = 5
"""Numbers of a part: start, positions, whether it samples, solver steps, blocks."""


def pack(parts: list[Part], noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64 and float32, flat. noise: float32 [N, P, D] of the parts that sample."""
    rows = [
        (part.start, len(part.keys), part.samples, part.state.num_steps, len(part.block_table))
        for part in parts
    ]
    keys = [key for part in parts for key in part.keys]
    ids = [AUDIO if isinstance(key, bytes) else key for key in keys]
    guidance = np.array([part.state.cfg_value for part in parts], np.float64).view(np.int64)
    tables = [np.asarray(part.block_table, np.int64) for part in parts]
    ints = np.concatenate([[len(parts)], np.ravel(rows), guidance, ids, *tables], dtype=np.int64)
    spoken = np.frombuffer(b"".join(key for key in keys if isinstance(key, bytes)), np.float32)
    return ints, np.concatenate([noise.ravel(), spoken], dtype=np.float32)


def unpack(ints: np.ndarray, values: np.ndarray, patch: tuple[int, int]) -> tuple[list[Part], np.ndarray]:
    """What `pack` packed. patch: (P, D)."""
    count = int(ints[0])
    rows = ints[1 : 1 + ROW * count].reshape(count, ROW)
    begin = 1 + (ROW + 1) * count
    guidance = ints[begin - count : begin].view(np.float64).tolist()
    lengths, blocks = rows[:, 1], rows[:, 4]
    ids, tables = np.split(ints[begin:], [lengths.sum()])
    noise, spoken = np.split(values, [int(rows[:, 2].sum()) * patch[0] * patch[1]])
    patches = iter(key_patches([spoken.tobytes()], *patch))
    keys = iter(next(patches).tobytes() if key == AUDIO else key for key in ids.tolist())
    parts = [
        Part([next(keys) for _ in range(length)], start, table.tolist(), bool(samples), Wanted(steps, cfg), 0)
        for (start, length, samples, steps, _), cfg, table in zip(
            rows.tolist(), guidance, np.split(tables, np.cumsum(blocks)[:-1]), strict=True
        )
    ]
    return parts, noise.reshape(-1, *patch)
