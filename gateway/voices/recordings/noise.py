"""Recordings without the noise behind the speaker, where a client wants that and the extra is installed."""

from __future__ import annotations

import asyncio

import numpy as np

from gateway.errors import ApiError
from gateway.voices.recordings.decoding import Recording
from models.denoising import denoised, is_available

_FULL_SCALE = 32_767
_INSTALL = "VOXFLEET_EXTRAS=denoise ./start_all.sh --install-only"


def can_be_taken_out(done: bool) -> bool:
    """Whether what is heard behind the speaker can be; `done`: it was already, and what is left stays."""
    return is_available() and not done


async def without_noise(recording: Recording) -> Recording:
    """Takes a tenth of the recording's time, in a thread. Raises ApiError 422 (param "denoise")."""
    if not is_available():
        message = f"nothing here takes noise out of recordings: its operator can install it ({_INSTALL})"
        raise ApiError(422, "denoise_unsupported", message, param="denoise")
    return await asyncio.to_thread(_cleaned, recording)


def _cleaned(recording: Recording) -> Recording:
    clean = denoised(recording.samples.astype(np.float32) / _FULL_SCALE, recording.sample_rate)
    return Recording((clean * _FULL_SCALE).astype(np.int16), recording.sample_rate)
