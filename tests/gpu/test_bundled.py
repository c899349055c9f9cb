"""The bundled voice on a GPU: the clips of a CPU, in fp32 patch by patch, in bf16 as a whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import models.voxcpm
from benchmarks.gpu.engines.ours import relative
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from tests.gpu.device import DEVICE, needs_gpu, needs_packages

pytestmark = [needs_gpu, needs_packages("the recording of a voice", "av", "soundfile", "soxr")]
BUNDLED = Path(models.voxcpm.__file__).parent / "bundled"
TEXTS = ("Good morning, how are you today?", "She sells sea shells by the sea shore.")
Clips = dict[str, tuple[np.ndarray, str | None]]


def spoken(device: torch.device, dtype: torch.dtype) -> Clips:
    """Latents and finish reason of each text."""
    checkpoint = load_checkpoint(BUNDLED, str(device), dtype=dtype)
    engine = VoxCPMEngine(checkpoint, EngineOptions(max_num_seqs=2))
    for seed, text in enumerate(TEXTS):
        engine.add_request(SpeechRequest(text, text, seed=seed))
    latents: dict[str, list[np.ndarray]] = {text: [] for text in TEXTS}
    reasons: dict[str, str | None] = {}
    while engine.has_unfinished():
        for output in engine.step():
            if output.audio.size:
                latents[output.request_id].append(output.latents)
            reasons[output.request_id] = output.finish_reason
    return {text: (np.stack(latents[text]), reasons[text]) for text in TEXTS}


@pytest.fixture(scope="module")
def on_a_cpu() -> Clips:
    return spoken(torch.device("cpu"), torch.float32)


def test_fp32_gives_the_same_clip(on_a_cpu: Clips) -> None:
    for text, (latents, reason) in spoken(DEVICE, torch.float32).items():
        expected, expected_reason = on_a_cpu[text]
        assert (len(latents), reason) == (len(expected), expected_reason)
        assert relative(latents[:1], expected[:1]) < 2e-2, text
        assert relative(latents[:4], expected[:4]) < 5e-2, text  # patches feed on those before
        assert np.corrcoef(latents.ravel(), expected.ravel())[0, 1] > 0.99, text


def test_bf16_says_the_same(on_a_cpu: Clips) -> None:
    """Roundings feed on themselves from patch to patch: the clip is another reading of the same words."""
    for text, (latents, reason) in spoken(DEVICE, torch.bfloat16).items():
        expected, expected_reason = on_a_cpu[text]
        assert reason == expected_reason == "stop"
        assert abs(len(latents) - len(expected)) <= len(expected) // 8, text
        shared = min(len(latents), len(expected))
        assert relative(latents[:1], expected[:1]) < 0.1, text
        assert np.corrcoef(latents[:shared].ravel(), expected[:shared].ravel())[0, 1] > 0.5, text
