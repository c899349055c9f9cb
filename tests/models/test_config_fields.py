"""A `config.json` that no model can have is refused by the name of the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from models.config_fields import ConfigError
from models.llm.checkpoint import read_config as read_text_config
from models.qwen3.config import Qwen3Config
from models.voxcpm.checkpoint import read_config
from models.voxcpm.config import VoxCPMConfig

TEXT = {
    "architectures": ["Qwen3ForCausalLM"], "vocab_size": 300, "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}  # fmt: skip
SPEECH = json.loads((Path(__file__).parents[1] / "parity" / "tiny_v2" / "config.json").read_text())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden_size", None),
        ("num_hidden_layers", "two"),
        ("num_key_value_heads", 0),
        ("intermediate_size", -1),
        ("rms_norm_eps", []),
        ("rope_theta", {}),
        ("architectures", 3),
        ("tie_word_embeddings", "perhaps"),
        ("rope_scaling", "yarn"),
        ("rope_parameters", [4.0]),
        ("quantization_config", {"quant_method": "awq", "bits": 4}),
    ],
)
def test_of_a_text_model(tmp_path: Path, field: str, value: Any) -> None:
    (tmp_path / "config.json").write_text(json.dumps(TEXT | {field: value}))
    with pytest.raises(ConfigError, match=field):
        read_text_config(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("num_attention_heads", None), ("num_hidden_layers", 0), ("rope_theta", "fast"), ("use_mup", 2.5)],
)
def test_of_a_speech_model(tmp_path: Path, field: str, value: Any) -> None:
    wrong = SPEECH | {"lm_config": SPEECH["lm_config"] | {field: value}}
    (tmp_path / "config.json").write_text(json.dumps(wrong))
    with pytest.raises(ConfigError, match=field):
        read_config(tmp_path)


@pytest.mark.parametrize("field", ["factor", "original_max_position_embeddings"])
def test_of_a_text_model_for_longer_texts(tmp_path: Path, field: str) -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512, field: 0}
    (tmp_path / "config.json").write_text(json.dumps(TEXT | {"rope_scaling": yarn}))
    with pytest.raises(ConfigError, match=f"{field} must be at least 1"):
        read_text_config(tmp_path)


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("encoder_config", "hidden_dim", -4),
        ("dit_config", "num_layers", 0),
        ("audio_vae_config", "decoder_rates", [8, -8]),
        ("audio_vae_config", "sample_rate", -16000),
        ("lm_config", "vocab_size", -1),
    ],
)
def test_a_size_of_a_part_is_named_with_it(tmp_path: Path, section: str, field: str, value: Any) -> None:
    wrong = SPEECH | {section: SPEECH[section] | {field: value}}
    (tmp_path / "config.json").write_text(json.dumps(wrong))
    with pytest.raises(ConfigError, match=f"{section}.{field} must be at least 1"):
        read_config(tmp_path)


def test_a_patch_has_a_size(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SPEECH | {"patch_size": -2}))
    with pytest.raises(ConfigError, match="patch_size must be at least 1, got -2"):
        read_config(tmp_path)


@pytest.mark.parametrize("name", ["encoder_config", "audio_vae_config"])
def test_of_a_part_of_a_speech_model(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SPEECH | {name: 5}))
    with pytest.raises(ConfigError, match=name):
        read_config(tmp_path)


def test_what_files_write_otherwise_is_the_same() -> None:
    assert Qwen3Config.from_dict(TEXT | {"rope_theta": 10000}).rope_theta == 10000.0
    assert Qwen3Config.from_dict(TEXT | {"hidden_size": 64.0}).hidden_size == 64
    assert VoxCPMConfig.from_dict(VoxCPMConfig.from_dict(SPEECH).to_dict()) == VoxCPMConfig.from_dict(SPEECH)
