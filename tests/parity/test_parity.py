"""The model computes what the published package computes, for its checkpoints and for any other shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from models.voxcpm import parity
from models.voxcpm.checkpoint import load_checkpoint
from tests.parity.oracle import random_checkpoint, record, small_config

HERE = Path(__file__).parent
TOLERANCE = 1e-4


@pytest.mark.parametrize("name", ["tiny_v1", "tiny_v2"])
def test_every_golden_tensor_of_the_committed_checkpoints_is_met(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parity.main([str(HERE / name), str(HERE / name / "golden"), "--tolerance", str(TOLERANCE)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["mode"] for line in lines} >= {"zero_shot", "continuation"}
    assert all(line["errors"]["latents_free_running"] < 1e-5 for line in lines)


def test_a_wrong_weight_fails_the_comparison(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    source = HERE / "tiny_v2"
    for file in source.iterdir():
        if file.is_file() and file.name != "model.safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(source / "model.safetensors")
    weights["residual_lm.layers.1.mlp.up_proj.weight"] *= 1.01
    save_file(weights, tmp_path / "model.safetensors")
    assert parity.main([str(tmp_path), str(source / "golden")]) == 1


SHAPES = {
    "patch 3, seven steps": (
        "voxcpm2",
        {"patch_size": 3, "encoder_config.num_heads": 2, "dit_config.num_layers": 3},
        {"steps": 7, "cfg_value": 2.5},
    ),
    "patch 4, many heads, other rates": (
        "voxcpm",
        {
            "patch_size": 4,
            "lm_config.num_attention_heads": 8,
            "lm_config.num_key_value_heads": 4,
            "encoder_config.num_heads": 8,
            "dit_config.num_heads": 8,
            "audio_vae_config.encoder_rates": [3, 2, 7],
            "audio_vae_config.decoder_rates": [7, 3, 2],
        },
        {"steps": 4, "cfg_value": 1.5},
    ),
    "one kv head, dense VAE, no rate condition": (
        "voxcpm2",
        {
            "lm_config.num_key_value_heads": 1,
            "audio_vae_config.depthwise": False,
            "audio_vae_config.sr_bin_boundaries": None,
            "audio_vae_config.out_sample_rate": 16000,
            "audio_vae_config.decoder_rates": [4, 5, 2],
            "residual_lm_no_rope": False,
        },
        {"steps": 10, "cfg_value": 1.0},
    ),
    "mup scaling, long rope": (
        "voxcpm2",
        {
            "lm_config.use_mup": True,
            "lm_config.max_position_embeddings": 2048,
            "scalar_quantization_scale": 5,
        },
        {"steps": 25, "cfg_value": 3.0},
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_other_shapes_match_the_published_package(shape: str, tmp_path: Path) -> None:
    architecture, changes, generation = SHAPES[shape]
    directory = random_checkpoint(tmp_path / "checkpoint", small_config(architecture, **changes))
    checkpoint = load_checkpoint(directory, device="cpu", dtype=torch.float32)
    modes = ["zero_shot", "continuation"]
    if architecture == "voxcpm2":
        modes += ["reference", "ref_continuation"]
    for mode in modes:
        errors = parity.compare(checkpoint, record(directory, mode, **generation))
        assert max(errors.values()) <= TOLERANCE, (mode, errors)
