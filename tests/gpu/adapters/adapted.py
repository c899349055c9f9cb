"""Adapters of random matrices, and what is spoken with them, for the tests of adapters on GPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.shared.adapter_work import random_layers
from models.lora.adapter import Adapter
from models.speech import SpeechRequest
from models.voxcpm.adapters import adaptable
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from tests.gpu.device import CUDA, RECORDED

OPTIONS = EngineOptions(
    max_num_seqs=4 if CUDA else 2,
    max_model_len=128 if CUDA else 48,
    silence_guard=False,
    ratio_cap=False,
    attention_backend="triton",
    graphs=RECORDED,
    enable_prefix_caching=False,
    adapter_slots=8,
    adapter_layers="attention",
)
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
EVERYTHING = (*ATTENTION, "gate_proj", "up_proj", "down_proj", "lm_to_dit_proj", "enc_to_lm_proj")
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
STEPS = 10 if CUDA else 2
Engines = Callable[..., VoxCPMEngine]
Spoken = dict[str, np.ndarray]


def random_adapter(
    engine: VoxCPMEngine, seed: int, rank: int = 8, targets: tuple[str, ...] = ATTENTION
) -> Adapter:
    sizes = {name: size for name, size in adaptable(engine.config).items() if name.endswith(targets)}
    return Adapter(random_layers(sizes, seed, rank, 0.1), 1.0)


def request(name: str, adapter: str | None, patches: int = 3) -> SpeechRequest:
    return SpeechRequest(
        name, "hello world " * (1 + len(name) % 2), seed=sum(map(ord, name)), min_seconds=1.0, cfg_value=2.0,
        inference_timesteps=STEPS, adapter=adapter, max_seconds=patches * 0.01,
    )  # fmt: skip


def speak(
    engine: VoxCPMEngine,
    *requests: SpeechRequest,
    each_step: Callable[[int], None] = lambda _: None,
    heard: bool = False,
) -> Spoken:
    """Latents of each request, or its audio where they are to be `heard`."""
    patch = engine.info.patch_seconds
    found: dict[str, list[np.ndarray]] = {}
    for wanted in requests:
        patches = round(wanted.max_seconds / 0.01)
        engine.add_request(replace(wanted, max_seconds=patches * patch))
        found[wanted.request_id] = []
    step = 0
    while engine.has_unfinished():
        each_step(step)
        step += 1
        for output in engine.step():
            assert output.finish_reason != "error", output.error
            if output.audio.size:
                found[output.request_id].append(output.audio if heard else output.latents)
    return {name: np.stack(parts) for name, parts in found.items()}
