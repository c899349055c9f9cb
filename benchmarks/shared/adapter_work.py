"""What adapters are measured with: on CPUs (`benchmarks.adapters`), on GPUs (`benchmarks.gpu.adapters`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch

from engine.layers.low_rank import LowRank
from models.lora.adapter import Adapter
from models.speech import SpeechRequest
from models.transformer.adapted import Size
from models.voxcpm.adapters import adaptable
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.engine import VoxCPMEngine

RANK = 32
_ATTENTION, _MLP = ("q_proj", "k_proj", "v_proj", "o_proj"), ("gate_proj", "up_proj", "down_proj")
TARGETS = {
    "attention": _ATTENTION,
    "all": (*_ATTENTION, *_MLP),
    "decoder": (*_ATTENTION, *_MLP, "audio_vae."),
}
"""Beginnings or ends of the names of layers."""
TEXT = "It was the best of times, it was the worst of times, it was the age of wisdom."
WARM_STEPS, STEPS = 6, 20


@dataclass(frozen=True)
class Sizes:
    """How much is measured on a GPU."""

    streams: int
    different: tuple[int, ...]
    slots: int
    registered: int
    rounds: int
    steps: int
    clips: int
    at_once: int


class Named(Adapter):
    """The layers of another adapter under a digest of its own: what is measured does not depend on values."""

    digest = ""

    def __init__(self, of: Adapter, digest: str) -> None:
        super().__init__(of.layers, of.scale)
        object.__setattr__(self, "digest", digest)


def random_adapter(config: VoxCPMConfig, targets: tuple[str, ...], seed: int) -> Adapter:
    """One that changes little: its cost is that of any."""
    sizes = {
        name: size
        for name, size in adaptable(config).items()
        if name.endswith(targets) or name.startswith(targets)
    }
    return Adapter(random_layers(sizes, seed, RANK, 1e-3), 1.0)


def random_layers(sizes: Mapping[str, Size], seed: int, rank: int, change: float) -> dict[str, LowRank]:
    """Matrices of layers of these sizes; `change` is the scale of their `up`."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: LowRank(
            torch.randn(rank, width, generator=generator) / width**0.5,
            change * torch.randn(height, rank, generator=generator),
        )
        for name, (height, width) in sizes.items()
    }


def running(
    engine: VoxCPMEngine, adapters: list[str | None], patches: int = WARM_STEPS + 10 * STEPS
) -> Iterator[None]:
    """Steps of one stream for each of `adapters`, all in one batch, without an end."""
    seconds = patches * engine.info.patch_seconds
    for number, name in enumerate(adapters):
        request = SpeechRequest(f"r{number}", TEXT, number, min_seconds=seconds, adapter=name)
        engine.add_request(request)
    try:
        while True:
            engine.step()
            yield
    finally:
        for number in range(len(adapters)):
            engine.cancel(f"r{number}")
        engine.step()


def step_seconds(
    engine: VoxCPMEngine,
    adapters: list[str | None],
    clock: Callable[[], float] = time.process_time,
    warm: int = WARM_STEPS,
) -> list[float]:
    """Time of each of some steps after `warm` others; processor time where nobody says otherwise."""
    steps = running(engine, adapters)
    for _ in range(warm):
        next(steps)
    found = []
    for _ in range(STEPS):
        began = clock()
        next(steps)
        found.append(clock() - began)
    steps.close()
    return found
