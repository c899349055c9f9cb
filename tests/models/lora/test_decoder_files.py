"""The decoder's part of an adapter is read whole, for the audio VAE it is of, or refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from models.lora.adapter import Adapter, AdapterError
from models.lora.files import read_adapter, received_adapter, write_adapter
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.engine import VoxCPMEngine
from tests.models.lora.conftest import DECODER, LORA, decoder_adapter
from tests.models.lora.edited_files import change, rewrite, to_peft

Sizes = dict[str, tuple[int, int]]
FIRST = "audio_vae.decoder.model.1"


@pytest.fixture
def both(adapter: Adapter) -> Adapter:
    return replace(decoder_adapter(1, beside=adapter), audio_vae_digest="abc")


@pytest.fixture
def voice(tmp_path: Path, both: Adapter) -> Path:
    write_adapter(tmp_path / "voice", both, LORA | DECODER)
    return tmp_path / "voice"


def received(directory: Path, sizes: Sizes, **digests: Callable[[], str]) -> Adapter:
    config = json.loads((directory / "lora_config.json").read_text())
    return received_adapter(config, (directory / "lora_weights.safetensors").read_bytes(), sizes, **digests)


def test_what_is_written_is_read_and_received_again(voice: Path, both: Adapter, sizes: Sizes) -> None:
    for found in (read_adapter(voice, sizes), received(voice, sizes)):
        assert found.digest == both.digest and found.audio_vae_digest == "abc"
        assert (found.scale, {found.scales[name] for name in decoder_adapter(1).layers}) == (2.0, {0.5})
    change(voice, alpha_audio_vae_decoder=4)
    assert read_adapter(voice, sizes).digest != both.digest


def test_an_adapter_may_be_of_the_decoder_alone(tmp_path: Path, sizes: Sizes) -> None:
    write_adapter(tmp_path, decoder_adapter(1), DECODER)
    assert read_adapter(tmp_path, sizes).digest == decoder_adapter(1).digest
    assert "audio_vae_digest" not in json.loads((tmp_path / "lora_config.json").read_text())


def spoil(state: dict[str, torch.Tensor]) -> None:
    state[f"{FIRST}.lora_B"][0, 0] = float("nan")


def cut(state: dict[str, torch.Tensor]) -> None:
    state[f"{FIRST}.lora_A"] = state[f"{FIRST}.lora_A"][:, :-1].contiguous()


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda state: state.pop(f"{FIRST}.lora_B"), f"missing: {FIRST}.lora_B"),
        (lambda state: state.update({"audio_vae.encoder.fc_mu.lora_A": torch.ones(1)}), "audio_vae.encoder"),
        (lambda state: state.update({"audio_vae.decoder.model.0.lora_A": torch.ones(1)}), "decoder.model.0"),
        (cut, f"{FIRST}.lora_A is "),
        (spoil, f"{FIRST}.lora_B has values that are not finite"),
    ],
)
def test_tensors_that_do_not_fit_are_named(voice: Path, sizes: Sizes, edit: Any, reason: str) -> None:
    """The first convolution is depthwise in this checkpoint: it mixes no channels."""
    rewrite(voice, edit)
    for read in (read_adapter, received):
        with pytest.raises(AdapterError, match=reason):
            read(voice, sizes)


def test_a_decoder_that_the_configuration_does_not_name_is_refused(voice: Path, sizes: Sizes) -> None:
    change(voice, enable_audio_vae_decoder=False)
    with pytest.raises(AdapterError, match=r"does not name: audio_vae\.decoder"):
        read_adapter(voice, sizes)


def test_all_layers_of_peft_are_those_without_the_decoder(tmp_path: Path, sizes: Sizes) -> None:
    plain = {name: size for name, size in sizes.items() if not name.startswith("audio_vae.")}
    state = {}
    for name, (outputs, inputs) in plain.items():
        state |= {f"{name}.lora_A": torch.ones(4, inputs), f"{name}.lora_B": torch.ones(outputs, 4)}
    save_file(state, tmp_path / "lora_weights.safetensors")
    (tmp_path / "lora_config.json").touch()
    to_peft(tmp_path, target_modules="all-linear")
    assert read_adapter(tmp_path, sizes).layers.keys() == plain.keys() != sizes.keys()
    weights = load_file(tmp_path / "adapter_model.safetensors")
    weights.popitem()
    save_file(weights, tmp_path / "adapter_model.safetensors")
    with pytest.raises(AdapterError, match="missing"):
        read_adapter(tmp_path, sizes)


def test_an_adapter_of_another_audio_vae_is_refused(
    voice: Path, sizes: Sizes, make_engine: Callable[..., VoxCPMEngine], checkpoint: Checkpoint, both: Adapter
) -> None:
    for read in (read_adapter, received):
        assert read(voice, sizes, audio_vae_digest=lambda: "abc").audio_vae_digest == "abc"
        with pytest.raises(AdapterError, match=r"another model's audio VAE \(tiny\)"):
            read(voice, sizes, audio_vae_digest=lambda: "def")
    engine = make_engine()
    with pytest.raises(AdapterError, match="audio VAE"):
        engine.read_adapter(voice)
    write_adapter(voice, replace(both, audio_vae_digest=checkpoint.vae_digest), LORA | DECODER)
    assert engine.read_adapter(voice).digest == both.digest
