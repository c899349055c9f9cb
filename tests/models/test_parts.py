"""The small parts of the model glue: key streams, tokens, noise, limits, packing, audio encoding."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from engine.cpu.threads import OneThreadLinear
from engine.errors import RequestError
from engine.layers.packed import PackedLinear, pack_layers
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.flow_matching import guide, num_zero_steps, time_grid
from models.voxcpm.noise import patch_noise
from models.voxcpm.requests.generation import (
    GenerationState,
    SilenceGuard,
    patches_in,
    patches_within,
    text_ratio_cap,
)
from models.voxcpm.requests.prompt import build_sequence, key_patches, patch_keys, trailing_patches
from models.voxcpm.requests.tokenizer import TextTokenizer
from models.voxcpm.vae.audio_encoding import AudioEncoder, most_speech
from tests.models.conftest import CHECKPOINTS


def test_the_sequence_is_reference_text_start_marker_prompt_then_generated() -> None:
    patches = np.arange(5 * 2 * 3, dtype=np.float32).reshape(5, 2, 3)
    keys = build_sequence([7, 8], reference=patches[:2], prompt=patches[2:3], generated=patches[3:])
    expected = [103, *patch_keys(patches[:2]), 104, 7, 8, 101, *patch_keys(patches[2:])]
    assert keys == expected
    assert np.array_equal(key_patches(keys[-3:], 2, 3), patches[2:])
    assert trailing_patches(keys, 9) == keys[-3:]
    assert trailing_patches(keys, 2) == keys[-2:]
    assert trailing_patches(build_sequence([7]), 4) == []


def test_chinese_words_are_split_and_leading_spaces_ignored() -> None:
    tokenizer = TextTokenizer.from_file(CHECKPOINTS / "tiny_v2" / "tokenizer.json")
    assert tokenizer.encode("今天")[-2:] == tokenizer.encode("今")[-1:] + tokenizer.encode("天")[-1:]
    assert tokenizer.encode("  the") == tokenizer.encode("the")


def test_noise_depends_on_seed_and_index_alone_and_is_standard_normal() -> None:
    assert np.array_equal(patch_noise(3, 5, 4, 16), patch_noise(3, 5, 4, 16))
    assert not np.array_equal(patch_noise(3, 5, 4, 16), patch_noise(3, 6, 4, 16))
    assert not np.array_equal(patch_noise(2**64 - 1, 5, 4, 16), patch_noise(3, 5, 4, 16))
    many = np.concatenate([patch_noise(1, i, 8, 64) for i in range(200)])
    assert abs(many.mean()) < 0.01 and abs(many.std() - 1) < 0.01


def test_the_time_grid_runs_from_noise_to_data_and_skips_what_cfg_zero_skips() -> None:
    grid = time_grid(10)
    assert grid[0] == 1.0 and grid[-1] == 0.0 and grid == sorted(grid, reverse=True)
    assert [num_zero_steps(n) for n in (2, 10, 49, 74)] == [1, 1, 2, 3]


def test_guidance_one_is_the_conditional_velocity() -> None:
    velocity = torch.randn(6, 2, 4)
    assert torch.allclose(guide(velocity, torch.ones(3, 1, 1)), velocity[:3], atol=1e-6)


def test_silence_counts_only_without_a_break() -> None:
    guard = SilenceGuard(limit_seconds=0.5)
    quiet, loud = 1e-4, 0.1
    assert not guard.ran_away(quiet, 0.4) and not guard.ran_away(loud, 0.4)
    assert not guard.ran_away(quiet, 0.4) and guard.ran_away(quiet, 0.4)


def ending(silent_after: int, min_patches: int, stop_at: int | None = None) -> tuple[str | None, int]:
    """Why and with how many patches of 0.5 s a clip ends that falls silent."""
    state = GenerationState(1, 2.0, 10, 1.0, 40, "length", min_patches, silence=SilenceGuard())
    reason = None
    while reason is None:
        peak = 0.0 if state.index >= silent_after else 0.1
        reason = state.finish_reason(state.index == stop_at, peak, 0.5)
        state.index += 1
    return reason, state.index


def test_silence_ends_no_clip_before_its_least_length() -> None:
    assert ending(silent_after=4, min_patches=0) == ("runaway", 10)
    assert ending(silent_after=4, min_patches=20) == ("stop", 20)
    assert ending(silent_after=18, min_patches=20) == ("runaway", 24)
    assert ending(silent_after=4, min_patches=20, stop_at=19) == ("stop", 20)
    assert ending(silent_after=4, min_patches=60) == ("length", 40)


def test_seconds_cover_whole_patches() -> None:
    assert [patches_in(seconds, 0.08) for seconds in (0.0, 0.08, 0.081, 0.24)] == [0, 1, 2, 3]
    assert [patches_within(seconds, 0.08) for seconds in (0.08, 0.159, 0.16, 0.24)] == [1, 1, 2, 3]
    assert text_ratio_cap(10) == 70


def test_packed_layers_compute_what_plain_ones_do() -> None:
    plain = torch.nn.Sequential(torch.nn.Linear(256, 128), torch.nn.SiLU(), torch.nn.Linear(128, 4))
    packed = copy.deepcopy(plain)
    pack_layers(packed)
    assert isinstance(packed[0], PackedLinear) and isinstance(packed[2], OneThreadLinear)
    with torch.inference_mode():
        for rows in (1, 7, 130):
            x = torch.randn(rows, 3, 256)[:, 1]
            assert torch.allclose(plain(x), packed(x), atol=1e-5)


def test_prompts_are_padded_on_the_left_and_references_on_the_right(checkpoint: Checkpoint) -> None:
    encoder = AudioEncoder(checkpoint)
    samples = np.ones(170, np.float32)
    left, right = encoder.pad(samples, "prompt"), encoder.pad(samples, "reference")
    assert len(left) == len(right) == 320
    assert left[:150].max() == 0 and left[150:].min() == 1 and np.array_equal(right, left[::-1])


def test_of_a_long_reference_the_stretch_with_most_speech_is_taken(checkpoint: Checkpoint) -> None:
    rate = checkpoint.config.audio_vae_config.sample_rate
    quiet, loud = np.full(rate, 1e-3, np.float32), np.full(rate, 0.5, np.float32)
    samples = np.concatenate([quiet, loud, quiet, quiet, loud, loud, quiet])
    assert np.array_equal(most_speech(samples, rate, 2.0), np.concatenate([loud, loud]))
    assert most_speech(samples, rate, 7.0) is samples
    limited = replace(checkpoint, generation={"max_reference_seconds": 2.0})
    every, some = (AudioEncoder(each, max_model_len=1000) for each in (checkpoint, limited))
    whole, cut = (encoder.encode(samples, rate, "reference") for encoder in (every, some))
    assert len(whole) == pytest.approx(3.5 * len(cut), abs=1)
    assert len(some.encode(samples, rate, "prompt")) == len(whole)


def test_a_reference_is_moved_towards_its_resynthesis_where_the_checkpoint_says_so(
    tmp_path: Path, checkpoint: Checkpoint
) -> None:
    config = checkpoint.config.audio_vae_config
    samples = np.random.default_rng(0).uniform(-0.5, 0.5, config.sample_rate).astype(np.float32)
    plain, half, whole = (
        AudioEncoder(replace(checkpoint, generation={"reference_resynthesis": share}))
        for share in (0.0, 0.5, 1.0)
    )
    first = plain.encode(samples, config.sample_rate, "reference")
    with torch.inference_mode():
        said = checkpoint.vae.decode(torch.from_numpy(first).permute(2, 0, 1).flatten(1)[None])
    again = plain.encode(said[0, 0].numpy(), config.output_sample_rate, "reference")[: len(first)]
    assert np.abs(first - again).max() > 1e-2
    for encoder, wanted in ((half, (first + again) / 2), (whole, again)):
        moved = encoder.encode(samples, config.sample_rate, "reference")
        np.testing.assert_allclose(moved, wanted, atol=1e-4)
    prompts = [encoder.encode(samples, config.sample_rate, "prompt") for encoder in (plain, half)]
    assert np.array_equal(*prompts)
    soundfile.write(tmp_path / "voice.wav", samples, config.sample_rate, subtype="FLOAT")
    assert np.array_equal(half.encode_file(tmp_path / "voice.wav", "reference"), first)


def test_audio_files_are_read_mixed_down_resampled_and_encoded_once(
    tmp_path: Path, checkpoint: Checkpoint
) -> None:
    encoder = AudioEncoder(checkpoint)
    stereo = np.random.default_rng(0).uniform(-0.5, 0.5, (4800, 2)).astype(np.float32)
    path = tmp_path / "voice.flac"
    soundfile.write(path, stereo, 48000)
    first = encoder.encode_file(path, "reference")
    assert first.shape == (10, 4, 16)
    assert encoder.encode_file(path, "reference") is first
    (tmp_path / "noise.wav").write_bytes(b"not audio at all")
    with pytest.raises(RequestError, match=r"noise\.wav"):
        encoder.encode_file(tmp_path / "noise.wav", "reference")


@pytest.mark.parametrize(
    "samples", [np.zeros(0, np.float32), np.full(100, np.nan, np.float32), np.zeros((9, 2), np.float32)]
)
def test_audio_that_cannot_be_encoded_is_refused(checkpoint: Checkpoint, samples: np.ndarray) -> None:
    with pytest.raises(RequestError, match="prompt audio"):
        AudioEncoder(checkpoint).encode(samples, 16000, "prompt")


def test_audio_of_which_resampling_leaves_nothing_is_refused_as_empty(checkpoint: Checkpoint) -> None:
    with pytest.raises(RequestError, match=r"reference audio .* not empty") as caught:
        AudioEncoder(checkpoint).encode(np.ones(1, np.float32), 48000, "reference")
    assert caught.value.param == "reference"
