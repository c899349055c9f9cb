"""Everything runs on the device it was asked for, whichever is current: clips of the second GPU are those of
the first, bit for bit, and the first one has nothing to do with it.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.attention import select_backend
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from tests.gpu.device import CUDA, RECORDED, needs_gpu

pytestmark = [
    needs_gpu,
    pytest.mark.skipif(CUDA and torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
DEVICES = ("cuda:0", "cuda:1") if CUDA else ("cpu", "cpu")
GRAPHS = sorted({RECORDED, "static", "off"})
OPTIONS = EngineOptions(
    max_num_seqs=3,
    max_model_len=256 if CUDA else 96,
    silence_guard=False,
    ratio_cap=False,
    attention_backend="triton",
)


def requests(engine: VoxCPMEngine) -> list[SpeechRequest]:
    """Text, a reference, a prompt to go on from, another number of solver steps, and a resumed clip."""
    shape = (engine.config.patch_size, engine.config.feat_dim)
    latents = np.random.default_rng(1).standard_normal((4, *shape)).astype(np.float32)
    seconds = 6 * engine.config.patch_seconds
    common = {"min_seconds": seconds, "max_seconds": seconds, "inference_timesteps": 10}
    return [
        SpeechRequest("text", "hello world", seed=1, **common),
        SpeechRequest("reference", "hello world", seed=2, reference_latents=latents, **common),
        SpeechRequest(
            "prompt", "hello world", seed=3, prompt_text="the thing.", prompt_latents=latents, **common
        ),
        SpeechRequest("steps", "hello world", seed=4, **common | {"inference_timesteps": 4}),
        SpeechRequest("resumed", "hello world", seed=5, resume_latents=latents[:3], **common),
    ]


def spoken(engines: list[VoxCPMEngine]) -> list[dict[str, list[np.ndarray]]]:
    """Latents and audio, all engines in turn, step by step, in one thread; and the last request alone."""
    found: list[dict[str, list[np.ndarray]]] = [{} for _ in engines]

    def work() -> None:
        while any(engine.has_unfinished() for engine in engines):
            for engine, clips in zip(engines, found, strict=True):
                for output in engine.step():
                    assert output.finish_reason != "error", output.error
                    clips.setdefault(output.request_id, []).extend((output.latents, output.audio))

    *together, alone = requests(engines[0])
    for group in (together, [alone]):
        for engine in engines:
            for request in group:
                engine.add_request(request)
        work()
    return found


@pytest.mark.parametrize("graphs", GRAPHS)
def test_two_engines_in_one_thread_speak_the_same(tiny: Path, graphs: str) -> None:
    engines = [
        VoxCPMEngine(
            load_checkpoint(tiny, device, dtype=torch.float32 if not CUDA else torch.bfloat16),
            replace(OPTIONS, graphs=graphs),
        )
        for device in DEVICES
    ]
    first, second = spoken(engines)
    assert first.keys() == second.keys() and len(first) == 5
    for name, parts in first.items():
        assert len(parts) == len(second[name])
        for part, other in zip(parts, second[name], strict=True):
            assert np.isfinite(part).all()
            np.testing.assert_array_equal(part, other, name)


@pytest.mark.skipif(not CUDA, reason="the CPU has one memory")
@pytest.mark.parametrize("graphs", GRAPHS)
def test_the_second_device_takes_nothing_of_the_first(tiny: Path, graphs: str) -> None:
    """Neither memory nor a stream: the first is kept busy meanwhile."""
    gc.collect()  # engines of the tests before
    torch.cuda.synchronize(0)
    before = torch.cuda.memory_allocated(0)
    assert torch.cuda.current_device() == 0
    checkpoint = load_checkpoint(tiny, "cuda:1", dtype=torch.bfloat16)
    engine = VoxCPMEngine(checkpoint, replace(OPTIONS, graphs=graphs))
    spoken([engine])
    busy = torch.cuda.Stream(0)
    with torch.cuda.stream(busy):
        torch.cuda._sleep(1 << 34)  # eight seconds
        done = busy.record_event()
    spoken([engine])
    samples = np.zeros(16000, np.float32)
    assert np.isfinite(engine.encode_audio(samples, 16000, "reference")).all()
    assert not done.query(), "the second device waited for the first"
    assert torch.cuda.memory_allocated(0) == before and torch.cuda.current_device() == 0


@pytest.mark.skipif(not CUDA, reason="the CPU has one attention")
def test_attention_is_measured_where_it_runs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    select_backend("auto", "cuda:1", torch.bfloat16, 64, 16, (4, 2))
    assert "on cuda:1" in caplog.text and "failed when measured" not in caplog.text
