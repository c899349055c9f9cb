"""The forms for CUDA all together, in Triton's interpreter: they speak as the plain forms do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from triton.runtime.interpreter import GridExecutor

from engine.programs import catalogue
from models.voxcpm import checkpoint as checkpoint_module
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.fused import vae_stages
from models.voxcpm.fused.model import fuse_model
from models.voxcpm.fused.vae import FusedDecoder
from models.voxcpm.programs.step_programs import ProgramPlan
from models.voxcpm.vae import waveform_streams
from tests.models.conftest import CHECKPOINTS, assert_close, audio, latents, request, run
from tests.models.engine.requests import clip
from tests.models.fused.tiles import whole_tile

PLAN = ProgramPlan(2, 2, 48, text_chunks=((1, 16),), audio_chunks=((1, 16),))
OPTIONS = EngineOptions(
    max_num_seqs=2, max_model_len=48, block_size=8, silence_guard=False,
    attention_backend="triton", graphs="off",
)  # fmt: skip


@pytest.fixture
def make_fused(monkeypatch: pytest.MonkeyPatch) -> Callable[[], VoxCPMEngine]:
    monkeypatch.setattr(checkpoint_module, "pack_model", lambda model, _: fuse_model(model))
    monkeypatch.setattr(catalogue, "SHORT_CONTEXT", 48)
    monkeypatch.setattr(vae_stages, "separable_tile", whole_tile)
    monkeypatch.setattr(
        waveform_streams, "streaming_decoder", lambda vae, slots: FusedDecoder(vae, slots, precision="ieee")
    )
    return lambda: VoxCPMEngine(load_checkpoint(CHECKPOINTS / "tiny_v2", "cpu"), OPTIONS)


def requests() -> list[Any]:
    """Two patches after text alone, one after a reference."""
    text = request("text", max_seconds=0.02, min_seconds=0.02, inference_timesteps=2)
    voice = request("voice", max_seconds=0.01, min_seconds=0.01, inference_timesteps=2, seed=8)
    return [text, replace(voice, reference_latents=clip(2, 3))]


@pytest.mark.timeout(300)
def test_fused_programs_speak_as_the_plain_forms_do(
    make_engine: Callable[..., VoxCPMEngine], make_fused: Callable[[], VoxCPMEngine]
) -> None:
    """Also after a rehearsal, of which nothing may be left."""
    expected = run(make_engine(max_num_seqs=2), *requests())
    engine = make_fused()
    rehearse(engine)
    engine._runner.prepare(PLAN)
    outputs = run(engine, *requests())
    for name, clips in expected.items():
        assert_close(latents(outputs[name]), latents(clips), 1e-4)
        assert_close(audio(outputs[name]), audio(clips), 1e-3)


def rehearse(engine: VoxCPMEngine) -> None:
    """With every kernel left out, so that all it computes is what memory held: here, not a number."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(GridExecutor, "__call__", lambda *given, **named: None)
        patched.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
        torch.use_deterministic_algorithms(True)
        try:
            engine._runner.builder.rehearse(PLAN)
        finally:
            torch.use_deterministic_algorithms(False)
