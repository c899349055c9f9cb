"""The one builder of VoxCPM's input sequence, for every mode of conditioning.

    [103, reference patches, 104]?  text of prompt and target  [101]  prompt patches?  earlier patches?

The result is a key stream: text positions are token ids, audio positions the bytes of their latent
patch (float32 [P, D]). It is all the engine keeps of a request: a preempted or resumed sequence is
computed again from it, and equal prefixes share cache blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.voxcpm.requests.tokenizer import AUDIO_START, REFERENCE_END, REFERENCE_START

KeyStream = list[int | bytes]
REFERENCE_MARKS = 2
"""Positions around the patches of a reference."""


def build_sequence(
    text_ids: Sequence[int],
    *,
    reference: np.ndarray | None = None,
    prompt: np.ndarray | None = None,
    generated: np.ndarray | None = None,
) -> KeyStream:
    """Keys of a request's first prefill.

    text_ids: tokens of prompt text and target text, tokenised as one string. reference, prompt,
    generated: float32 [n, P, D] patches; `generated` are patches of this request made earlier.
    """
    keys: KeyStream = []
    if reference is not None:
        keys += [REFERENCE_START, *patch_keys(reference), REFERENCE_END]
    keys += [*text_ids, AUDIO_START]
    for patches in (prompt, generated):
        if patches is not None:
            keys += patch_keys(patches)
    return keys


def patch_keys(patches: np.ndarray) -> list[bytes]:
    """float32 [n, P, D] -> one key per patch."""
    return [patch.tobytes() for patch in np.ascontiguousarray(patches, dtype=np.float32)]


def key_patches(keys: Sequence[bytes], patch_size: int, feat_dim: int) -> np.ndarray:
    """Inverse of `patch_keys`: float32 [n, P, D]."""
    return np.frombuffer(b"".join(keys), dtype=np.float32).reshape(-1, patch_size, feat_dim)


def trailing_patches(keys: Sequence[int | bytes], limit: int) -> list[bytes]:
    """The last audio positions of a stream, at most `limit`, as far as they are contiguous to its end."""
    count = 0
    while count < min(limit, len(keys)) and isinstance(keys[-1 - count], bytes):
        count += 1
    return list(keys[len(keys) - count :])  # type: ignore[arg-type]
