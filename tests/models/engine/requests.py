"""Requests of every kind, and recordings to go with them."""

from __future__ import annotations

import numpy as np

from models.speech import SpeechRequest
from tests.models.conftest import request


def clip(seed: int, patches: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((patches, 4, 16)).astype(np.float32)


def varied_requests() -> list[SpeechRequest]:
    prompt = {"prompt_text": "the thing.", "prompt_latents": clip(1, 5)}
    return [
        request("zero-shot"),
        request("long", "hello world, hello again and again and again.", seed=9, max_seconds=0.2),
        request("continued", **prompt),
        request("reference", reference_latents=clip(2, 9), cfg_value=1.0),
        request("both", reference_latents=clip(2, 9), inference_timesteps=4, temperature=0.7, **prompt),
    ]
