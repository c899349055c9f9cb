"""Decoders of adapters in steps of programs, by the forms for CUDA in Triton's interpreter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from models.speech import SpeechRequest
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.fused import vae_stages
from models.voxcpm.fused.vae import FusedDecoder
from models.voxcpm.programs.waveform_programs import WaveformPrograms
from models.voxcpm.vae import waveform_streams
from tests.models.conftest import assert_close, audio, latents, run
from tests.models.engine.requests import clip as recording
from tests.models.fused.tiles import whole_tile
from tests.models.lora.conftest import Fused, clip, decoder_adapter, random_adapter
from tests.models.lora.plan import PLAN

ADAPTERS = {
    "steps": random_adapter(1),
    "both": decoder_adapter(2, beside=random_adapter(2)),
    "decoder": decoder_adapter(3, rank=20),
}
BATCHES = [("both", "decoder"), ("decoder", "decoder"), ("steps", "both")]


@pytest.fixture
def engine(fused: Fused, monkeypatch: pytest.MonkeyPatch) -> VoxCPMEngine:
    monkeypatch.setattr(vae_stages, "separable_tile", whole_tile)
    monkeypatch.setattr(
        waveform_streams, "streaming_decoder", lambda vae, slots: FusedDecoder(vae, slots, precision="ieee")
    )
    engine = fused()
    engine._runner.prepare(PLAN)
    for name, adapter in ADAPTERS.items():
        engine.adapters.add(name, adapter)
    return engine


@pytest.mark.timeout(300)
def test_programs_sound_as_free_steps_do(
    make_engine: Callable[..., VoxCPMEngine], engine: VoxCPMEngine
) -> None:
    plain = make_engine(max_num_seqs=2)
    for name, adapter in ADAPTERS.items():
        plain.adapters.add(name, adapter)
    for first, second in BATCHES:
        work = [clip("a", first), resumed("b", second)]
        expected, actual = run(plain, *work), run(engine, *work)
        for name, outputs in expected.items():
            assert_close(latents(actual[name]), latents(outputs), 1e-4)
            assert_close(audio(actual[name]), audio(outputs), 1e-3)


def resumed(name: str, adapter: str | None) -> SpeechRequest:
    """Its decoder begins with what was heard before."""
    wanted = clip(name, adapter)
    return replace(wanted, resume_latents=recording(7, 1), max_seconds=0.03, min_seconds=0.03)


@pytest.mark.timeout(300)
def test_plain_rows_keep_every_bit_and_the_recorded_decode(
    engine: VoxCPMEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = run(engine, clip("a", None), clip("b", None))
    beside = run(engine, clip("a", None), clip("b", "decoder"))
    for of in (latents, audio):
        np.testing.assert_array_equal(of(beside["a"]), of(without["a"]))
    np.testing.assert_array_equal(latents(beside["b"]), latents(without["b"]))
    assert np.abs(audio(beside["b"]) - audio(without["b"])).max() > 0.05 * np.abs(audio(without["b"])).max()
    monkeypatch.setattr(WaveformPrograms, "_launch_adapted", lambda *given: pytest.fail("unrecorded"))
    run(engine, clip("a", None), clip("b", "steps"))


@pytest.mark.timeout(300)
def test_an_adapter_that_is_gone_is_kept_by_no_program(engine: VoxCPMEngine) -> None:
    import gc
    import weakref

    kept = weakref.ref(engine.adapters.get("decoder").decoder)
    run(engine, clip("a", "decoder"))
    engine.adapters.remove("decoder")
    gc.collect()
    assert kept() is None
