"""What is said to be one call is one, with the same bits."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from engine.cpu.scripting import scripted
from engine.layers.packed import packing_available
from models.transformer import packed as packed_layer
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.vae.audio_vae import AudioVAE
from models.voxcpm.vae.streaming_vae import StreamingDecoder


def needs_what_no_build_has(x: Tensor) -> Tensor:
    return torch.ops.mkldnn.no_such_operator(x) if x.numel() > 99 else x + 1


def test_what_a_build_lacks_runs_as_it_is() -> None:
    function = scripted(needs_what_no_build_has)
    assert function is needs_what_no_build_has
    assert function(torch.ones(2)).tolist() == [2, 2]


@pytest.mark.skipif(not packing_available(), reason="layers are not packed here")
def test_layers_and_decoder_are_one_call_each(checkpoint: Checkpoint) -> None:
    for function in (packed_layer.run_rows, packed_layer.queries_keys_values, packed_layer.finish):
        assert isinstance(function, torch.jit.ScriptFunction)
    assert isinstance(StreamingDecoder(checkpoint.vae, 2)._chain, torch.jit.ScriptModule)


@torch.inference_mode()
def test_a_decoder_of_one_call_gives_the_bits_of_its_layers(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    vae: AudioVAE = checkpoint.vae
    patches, slots = torch.randn(5, 2, 4, vae.config.latent_dim), torch.tensor([2, 0])
    decoder = StreamingDecoder(vae, 3)
    monkeypatch.setattr("models.voxcpm.vae.streaming_vae.scripted", lambda module: module)
    plain = StreamingDecoder(vae, 3)
    for patch in patches:
        assert torch.equal(decoder.decode(patch, slots), plain.decode(patch, slots))
