"""Adapters with a decoder of their own: their rows sound by it, and nobody else notices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from models.lora.adapter import Adapter
from models.lora.rows import LoadedAdapter
from models.speech import SpeechOutput, SpeechRequest
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.vae.adapted_decoder import PREFIX, decoder_layers, vae_with
from models.voxcpm.vae.audio_vae import AudioVAE
from tests.models.conftest import assert_close, audio, latents, request, run
from tests.models.lora.conftest import decoder_adapter, random_adapter

Engines = Callable[..., VoxCPMEngine]
ADAPTERS = {
    "steps": random_adapter(1),
    "both": decoder_adapter(2, beside=random_adapter(2)),
    "decoder": decoder_adapter(3),
}


def with_adapters(engine: VoxCPMEngine) -> VoxCPMEngine:
    for name, adapter in ADAPTERS.items():
        engine.adapters.add(name, adapter)
    return engine


def requests(length: float = 0.08) -> list[SpeechRequest]:
    """One of each adapter, one of none, and one more of a decoder that is there already."""
    names = (None, *ADAPTERS, "decoder")
    clip = {"max_seconds": length, "min_seconds": length}
    return [request(f"r{seed}", seed=seed, adapter=name, **clip) for seed, name in enumerate(names)]


def vae_of(checkpoint: Checkpoint, adapter: str | None) -> AudioVAE:
    layers = decoder_layers(dict(ADAPTERS[adapter].scaled())) if adapter else {}
    return vae_with(checkpoint.vae, layers)


@torch.inference_mode()
def assert_decoded_by(vae: AudioVAE, outputs: list[SpeechOutput]) -> None:
    frames = torch.from_numpy(latents(outputs)).flatten(0, 1).T[None]
    assert_close(audio(outputs), vae.decode(frames)[0, 0].numpy(), 1e-4)


def test_each_row_of_a_mixed_batch_sounds_as_alone_and_by_the_decoder_it_names(
    make_engine: Engines, checkpoint: Checkpoint
) -> None:
    engine = with_adapters(make_engine(max_num_seqs=8, enable_prefix_caching=False))
    together = run(engine, *requests())
    for item in requests():
        alone, outputs = run(engine, item)[item.request_id], together[item.request_id]
        assert_close(latents(outputs), latents(alone), 1e-5)
        assert_close(audio(outputs), audio(alone), 1e-3)  # of latents that may be 1e-5 apart
        assert_decoded_by(vae_of(checkpoint, item.adapter), outputs)
    plain = run(engine, replace(requests()[4], adapter=None))["r4"]
    np.testing.assert_array_equal(latents(plain), latents(run(engine, requests()[4])["r4"]))
    assert np.abs(audio(plain) - audio(together["r4"])).max() > 0.05 * np.abs(audio(plain)).max()


def test_a_decoder_beside_a_plain_row_changes_none_of_its_latents(make_engine: Engines) -> None:
    engine = with_adapters(make_engine(max_num_seqs=8, enable_prefix_caching=False))
    work = requests()
    beside = run(engine, work[0], replace(work[3], adapter="decoder"))["r0"]
    without = run(engine, work[0], replace(work[3], adapter=None))["r0"]
    np.testing.assert_array_equal(latents(beside), latents(without))
    assert_close(audio(beside), audio(without), 1e-5)


def test_nothing_of_the_stream_that_had_a_slot_before_is_left(make_engine: Engines) -> None:
    engine = with_adapters(make_engine(max_num_seqs=1, enable_prefix_caching=False))
    work = requests()
    first, second = ([audio(run(engine, item)[item.request_id]) for item in work] for _ in range(2))
    for once, again in zip(first, second, strict=True):
        np.testing.assert_array_equal(once, again)


def test_preempted_and_resumed_clips_go_on_by_their_decoder(
    make_engine: Engines, checkpoint: Checkpoint
) -> None:
    work = requests(0.24)
    undisturbed = run(with_adapters(make_engine()), *work)
    cramped = with_adapters(make_engine(max_num_seqs=3, kv_blocks=8, max_model_len=64))
    outputs = run(cramped, *work)
    assert cramped._llm.scheduler.num_preemptions > 0
    parts = [replace(item, resume_latents=latents(undisturbed[item.request_id][:9])) for item in work]
    resumed = run(with_adapters(make_engine()), *parts)
    for item in work:
        vae, whole = vae_of(checkpoint, item.adapter), undisturbed[item.request_id]
        for found in (outputs[item.request_id], whole[:9] + resumed[item.request_id]):
            assert_close(latents(found), latents(whole), 1e-4)
            assert_decoded_by(vae, found)


def test_only_an_adapter_that_changes_the_decoder_pays_for_one(
    make_engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine()
    engine.adapters.add("decoder", ADAPTERS["decoder"])
    monkeypatch.setattr(
        type(engine._runner.streams), "decoder_with", lambda self, layers: pytest.fail("made")
    )
    engine.adapters.add("steps", ADAPTERS["steps"])
    own, none = engine.adapters.get("decoder"), engine.adapters.get("steps")
    assert isinstance(none, LoadedAdapter) and none.decoder is None
    matrices = sum(tensor.nbytes for tensors in none.modules.values() for tensor in tensors)
    infos = {info.name: info.num_bytes for info in engine.adapters.listed()}
    assert infos == {"decoder": own.decoder.num_bytes, "steps": matrices}
    assert own.decoder.num_bytes == sum(
        tensor.nbytes for tensor in engine.checkpoint.vae.decoder.parameters()
    )


def test_of_a_decoder_only_what_an_adapter_changes_is_made_anew(checkpoint: Checkpoint) -> None:
    found, before = vae_of(checkpoint, "decoder").decoder, checkpoint.vae.decoder
    kept = dict(before.named_parameters())
    anew = {name for name, tensor in found.named_parameters() if tensor is not kept[name]}
    assert anew == {f"{name.removeprefix(PREFIX)}.weight" for name in ADAPTERS["decoder"].layers}
    assert not any(torch.equal(found.get_parameter(name), kept[name]) for name in anew)


def test_a_name_that_is_taken_by_another_decoder_leaves_running_clips_theirs(
    make_engine: Engines, checkpoint: Checkpoint
) -> None:
    engine = make_engine(enable_prefix_caching=False)
    engine.adapters.add("anna", ADAPTERS["decoder"])
    engine.add_request(request("before", adapter="anna"))
    outputs = engine.step()
    engine.adapters.add("anna", Adapter(decoder_adapter(4).layers, 0.5))
    while engine.has_unfinished():
        outputs += engine.step()
    assert_decoded_by(vae_of(checkpoint, "decoder"), outputs)
