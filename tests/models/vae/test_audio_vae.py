"""Streamed and full decode are one waveform, whatever shape the VAE has and whoever shares the batch."""

from __future__ import annotations

import pytest
import torch

from models.config_fields import ConfigError
from models.voxcpm.config import AudioVAEConfig
from models.voxcpm.vae.audio_vae import fold_weight_norm, receptive_field_frames
from models.voxcpm.vae.streaming_vae import StreamingDecoder
from tests.models.vae.shapes import SHAPES, make_vae


@pytest.mark.parametrize("shape", SHAPES)
@torch.inference_mode()
def test_streams_of_different_ages_decode_together_as_each_decodes_whole(shape: str) -> None:
    vae = make_vae(shape)
    hop = vae.config.output_hop_length
    latents = torch.randn(3, 12, 2, 8)
    whole = vae.decode(latents.flatten(1, 2).transpose(1, 2))[:, 0]
    decoder = StreamingDecoder(vae, num_slots=5)
    slots, begins, heard = [4, 0, 2], [0, 3, 7], {row: [] for row in range(3)}
    for step in range(12 + begins[-1]):
        rows = [row for row in range(3) if begins[row] <= step < begins[row] + 12]
        for row in rows:
            if step == begins[row]:
                decoder.start(slots[row], latents[row, :0])
        patches = torch.stack([latents[row, step - begins[row]] for row in rows])
        audio = decoder.decode(patches, torch.tensor([slots[row] for row in rows]))
        for row, samples in zip(rows, audio, strict=True):
            heard[row].append(samples)
    for row in range(3):
        streamed = torch.cat(heard[row])
        assert streamed.shape == (12 * 2 * hop,)
        assert (streamed - whole[row]).abs().max() <= 1e-5 * whole.abs().max()


@pytest.mark.parametrize("shape", ["depthwise", "dense"])
@torch.inference_mode()
def test_replaying_the_receptive_field_restores_a_stream_and_less_does_not(shape: str) -> None:
    vae = make_vae(shape)
    latents = torch.randn(40, 2, 8)
    decoder = StreamingDecoder(vae, num_slots=2)
    decoder.start(0, latents[:39])
    expected = decoder.decode(latents[39:], torch.tensor([0]))
    replay = decoder.replay_patches(2)
    assert replay < 20
    decoder.start(1, latents[39 - replay : 39])
    restored = decoder.decode(latents[39:], torch.tensor([1]))
    assert (restored - expected).abs().max() <= 1e-6
    decoder.start(1, latents[38:39])
    assert (decoder.decode(latents[39:], torch.tensor([1])) - expected).abs().max() > 1e-4


@torch.inference_mode()
def test_the_receptive_field_is_as_far_as_an_impulse_reaches() -> None:
    vae = make_vae("dense")
    hop, frames = vae.config.output_hop_length, 60
    silence = torch.zeros(1, 8, frames)
    impulse = silence.clone()
    impulse[..., 0] = 5.0
    changed = (vae.decode(impulse) - vae.decode(silence))[0, 0].abs() > 0
    reach = int(changed.nonzero().max()) // hop
    assert reach <= receptive_field_frames(vae.config) <= reach + 2


@torch.inference_mode()
def test_folded_weight_norm_is_the_weight_the_norm_stood_for() -> None:
    conv = torch.nn.utils.parametrizations.weight_norm(torch.nn.ConvTranspose1d(6, 4, 8))
    state = {f"up.{name}": value for name, value in conv.state_dict().items()}
    folded = fold_weight_norm(state)
    assert set(folded) == {"up.weight", "up.bias"}
    assert torch.allclose(folded["up.weight"], conv.weight, atol=1e-6)


@pytest.mark.parametrize("half", ["weight_g", "weight_v"])
def test_half_a_weight_norm_is_left_for_the_loader_to_name(half: str) -> None:
    state = {f"up.{half}": torch.ones(6, 1, 1)}
    assert fold_weight_norm(state) == state


def test_audio_that_is_no_whole_number_of_frames_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 6"):
        make_vae("dense").encode(torch.zeros(1, 1, 7))


def test_a_vae_with_noise_blocks_is_refused() -> None:
    with pytest.raises(ConfigError, match="use_noise_block"):
        AudioVAEConfig(use_noise_block=True)
