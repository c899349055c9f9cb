"""Decoders of adapters in recorded steps: who has one is heard by it, nobody else notices or waits."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.gpu.engines.ours import relative
from benchmarks.shared.adapter_work import random_layers
from models.lora.adapter import Adapter
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.vae.adapted_decoder import adaptable_convolutions, vae_with
from tests.gpu.adapters.adapted import OPTIONS, Engines, random_adapter, request, speak
from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = needs_gpu


def with_decoder(engine: VoxCPMEngine, seed: int, beside: Adapter | None = None) -> Adapter:
    """All that adapters may change of the audio VAE's decoder, beside the layers of another one."""
    layers = random_layers(adaptable_convolutions(engine.config.audio_vae_config), seed, 8, 0.03)
    return Adapter({**(beside.layers if beside else {}), **layers}, 1.0)


def test_decoders_of_a_mixed_batch_sound_as_each_alone_and_plain_rows_keep_their_bits(
    engines: Engines,
) -> None:
    """Also in slots that other decoders had before, and while one more is loaded."""
    engine = engines()
    adapters = {"steps": random_adapter(engine, 1), "decoder": with_decoder(engine, 2)}
    adapters["both"] = with_decoder(engine, 3, adapters["steps"])
    for name, adapter in adapters.items():
        engine.adapters.add(name, adapter)
    work = [request("ab", None), request("b", "decoder"), request("cd", "both"), request("d", "decoder")]
    for batch in (work[: OPTIONS.max_num_seqs], work[-OPTIONS.max_num_seqs :]):
        together = speak(engine, *batch, heard=True)
        for wanted in batch:
            alone = speak(engine, wanted, heard=True)[wanted.request_id]
            assert relative(together[wanted.request_id], alone) < (0.02 if CUDA else 1e-3), wanted.request_id
    loading = threading.Thread(target=engine.adapters.add, args=("more", with_decoder(engine, 4)))
    beside = speak(
        engine, *work[:2], heard=True, each_step=lambda step: loading.start() if step == 1 else None
    )
    loading.join()
    without = speak(engine, work[0], replace(work[1], adapter=None), heard=True)
    np.testing.assert_array_equal(beside["ab"], without["ab"])
    assert relative(beside["b"], without["b"]) > 0.05


def test_a_decoder_of_its_own_decodes_as_the_weights_it_is_merged_into(engines: Engines) -> None:
    engine = engines()
    adapter = with_decoder(engine, 5)
    engine.adapters.add("anna", adapter)
    latents = speak(engine, request("ab", "anna"))["ab"]
    sound = speak(engine, request("ab", "anna"), heard=True)["ab"]
    vae = vae_with(engine.checkpoint.vae, dict(adapter.scaled()))
    with torch.inference_mode():
        frames = torch.from_numpy(latents).flatten(0, 1).T[None].to(DEVICE)
        expected = vae.decode(frames).flatten().cpu().numpy()
    assert relative(sound.flatten(), expected) < (0.02 if CUDA else 1e-3)


@pytest.mark.skipif(not CUDA, reason="the CPU has nobody to wait for")
def test_decodes_by_several_decoders_wait_for_nothing(engines: Engines) -> None:
    engine = engines(torch.bfloat16)
    for seed in range(2):
        engine.adapters.add(str(seed), with_decoder(engine, seed))
    speak(engine, request("ab", "0"), request("b", "1"))
    programs = engine._runner._programs._programs
    waveforms = programs.for_patches(4, False)._waveforms
    decoders = [engine.adapters.get(name).decoder for name in "01"]
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        shape = programs.for_patches(4, False).shape
        waiting = [waveforms.launch(shape, [None, *decoders, decoders[0]]) for _ in range(2)]
    finally:
        torch.cuda.set_sync_debug_mode(before)
    for copy in waiting:
        assert np.isfinite(copy.wait()).all()
        copy.give_back()
