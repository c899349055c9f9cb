"""What is in a checkpoint's folder: its configuration, its weights, its voices, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from engine.errors import WeightError
from models.config_fields import ConfigError
from models.speech import ANY_VOICE
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint, resolve_model
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.description import describe
from models.voxcpm.loading import load_engine
from models.voxcpm.options import EngineOptions
from tests.models.conftest import CHECKPOINTS


def released_config(name: str = "tiny_v2") -> dict:
    return json.loads((CHECKPOINTS / name / "config.json").read_text())


def test_a_config_survives_its_own_file_form() -> None:
    for name in ("tiny_v1", "tiny_v2"):
        config = VoxCPMConfig.from_dict(released_config(name))
        assert VoxCPMConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_traps_of_released_config_files() -> None:
    config = VoxCPMConfig.from_dict(released_config("tiny_v2"))
    assert config.dit_transformer().head_dim == 32 and config.dit_transformer().hidden_size == 64
    assert config.lm_config.embedding_scale == 1.0
    absent = released_config("tiny_v1")
    assert "kv_channels" not in absent["lm_config"]
    assert VoxCPMConfig.from_dict(absent).lm_config.head_dim == 32
    for place in ("dit_config", None):
        data = released_config("tiny_v2")
        (data[place] if place else data)["dit_mean_mode"] = True
        assert VoxCPMConfig.from_dict(data).mean_mode


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("architecture", "voxcpm9", "voxcpm9"),
        ("lm_config", None, "lm_config is missing"),
        ("lm_config.hidden_size", None, "lm_config lacks hidden_size"),
        ("lm_config.num_key_value_heads", 3, "multiple"),
        ("feat_dim", 32, "latent_dim"),
        ("dit_config.cfm_config", {"solver": "midpoint"}, "midpoint"),
    ],
)
def test_an_impossible_config_is_refused_by_field(path: str, value: object, message: str) -> None:
    data = released_config()
    *sections, key = path.split(".")
    target = data
    for section in sections:
        target = target[section]
    if value is None:
        del target[key]
    else:
        target[key] = value
    with pytest.raises(ConfigError, match=message):
        VoxCPMConfig.from_dict(data)


def copy_checkpoint(target: Path) -> Path:
    for file in (CHECKPOINTS / "tiny_v2").iterdir():
        if file.is_file():
            (target / file.name).write_bytes(file.read_bytes())
    return target


def test_released_layouts_load_alike(tmp_path: Path, checkpoint: Checkpoint) -> None:
    from safetensors.torch import load_file, save_file

    directory = copy_checkpoint(tmp_path)
    weights = load_file(directory / "model.safetensors")
    (directory / "model.safetensors").unlink()
    torch.save({"state_dict": weights}, directory / "pytorch_model.bin")
    vae = torch.load(directory / "audiovae.pth", weights_only=True)["state_dict"]
    (directory / "audiovae.pth").unlink()
    save_file({name: tensor.contiguous() for name, tensor in vae.items()}, directory / "audiovae.safetensors")
    loaded = load_checkpoint(directory, device="cpu")
    norm = loaded.model.base_lm.norm.weight
    assert torch.equal(norm, checkpoint.model.base_lm.norm.weight)
    assert torch.equal(loaded.vae.decoder.model[0].weight, checkpoint.vae.decoder.model[0].weight)
    assert loaded.revision != checkpoint.revision


def test_whatever_decides_what_comes_out_makes_another_revision(tmp_path: Path) -> None:
    directory = copy_checkpoint(tmp_path)
    (directory / "voices").mkdir()
    seen = {load_checkpoint(directory, device="cpu").revision}
    (directory / "README.md").write_text("About it.")
    assert load_checkpoint(directory, device="cpu").revision in seen
    (directory / "generation_config.json").write_text('{"temperature": 0.5}')
    seen.add(load_checkpoint(directory, device="cpu").revision)
    (directory / "voices" / "voices.json").write_text('{"anna": {"language": "en"}}')
    seen.add(load_checkpoint(directory, device="cpu").revision)
    assert len(seen) == 3


def test_a_model_without_a_voice_of_its_own_says_so(tmp_path: Path) -> None:
    directory = copy_checkpoint(tmp_path)
    voices = directory / "voices"
    voices.mkdir()
    soundfile.write(voices / "anna.wav", np.zeros(160, np.float32), 16000)
    for named, expected in ((None, True), ("anna", True), ("default", False)):
        if named is not None:
            (voices / "voices.json").write_text(json.dumps({named: {"audio": "anna.wav"}}))
        features = describe(load_checkpoint(directory, device="cpu"), EngineOptions(), False).features
        assert (ANY_VOICE in features) is expected


def test_a_missing_weight_is_named(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    directory = copy_checkpoint(tmp_path)
    weights = load_file(directory / "model.safetensors")
    weights["surprise.weight"] = weights.pop("stop_head.weight")
    save_file(weights, directory / "model.safetensors")
    with pytest.raises(WeightError) as caught:
        load_checkpoint(directory, device="cpu")
    assert caught.value.missing == ["stop_head.weight"] and caught.value.unexpected == ["surprise.weight"]


@pytest.mark.parametrize(
    "entry",
    [
        "anna.wav",
        {"audio": 5},
        {"audio": "nowhere.wav"},
        {"tags": "warm"},
        {"tags": [5]},
        {"language": ["en"]},
    ],
)
def test_a_voice_that_cannot_be_read_is_named(tmp_path: Path, entry: object) -> None:
    directory = copy_checkpoint(tmp_path)
    (directory / "voices").mkdir()
    (directory / "voices" / "voices.json").write_text(json.dumps({"anna": entry}))
    with pytest.raises(ConfigError, match="voice 'anna'"):
        load_checkpoint(directory, device="cpu")


def test_the_progress_of_loading_goes_on_to_its_end() -> None:
    told: list[tuple[str, float]] = []
    load_engine(str(CHECKPOINTS / "tiny_v2"), "cpu", 1, lambda *stage: told.append(stage)).close()
    shares = [share for _, share in told]
    assert shares == sorted(shares) and told[-1] == ("ready", 1.0)
    assert all(share < 0.5 for stage, share in told if stage in ("config", "weights", "audio vae", "device"))


def test_an_unknown_model_is_refused(tmp_path: Path) -> None:
    for model in ("nonsense", str(tmp_path / "nowhere"), tmp_path / "nowhere", "../no/such/model"):
        with pytest.raises(ConfigError, match="not 'bundled'"):
            resolve_model(model)
