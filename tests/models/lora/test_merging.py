"""A merged checkpoint says, and sounds, what its base and the adapter do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from engine.weights import load_state
from models.lora.adapter import Adapter, AdapterError
from models.lora.files import write_adapter
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.merging import main, merge, write_checkpoint
from models.voxcpm.vae.adapted_decoder import decoder_layers, vae_with
from tests.models.conftest import assert_close, audio, latents, request, run
from tests.models.lora.conftest import CHECKPOINT, DECODER, LORA, decoder_adapter


def merged(tmp_path: Path, adapter: Adapter, config: dict[str, object], base: Path = CHECKPOINT) -> Path:
    write_adapter(tmp_path / "adapter", adapter, config)
    assert main([str(base), str(tmp_path / "adapter"), str(tmp_path / "out")]) == 0
    return tmp_path / "out"


def names(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()}


def test_what_changes_the_decoder_is_merged_into_the_audio_vae(
    tmp_path: Path, adapter: Adapter, make_engine: Callable[..., VoxCPMEngine]
) -> None:
    base, both = tmp_path / "base", decoder_adapter(1, beside=adapter)
    unrounded = {name: tensor.float() for name, tensor in load_state(CHECKPOINT).items()}
    write_checkpoint(CHECKPOINT, unrounded, base)
    out = merged(tmp_path, both, LORA | DECODER, base)
    assert names(out) == names(CHECKPOINT) - {"golden", "audiovae.pth"} | {
        "audiovae.safetensors",
        "generation_config.json",
    }
    engine = make_engine()
    engine.adapters.add("anna", both)
    expected = run(engine, request("a", adapter="anna"))["a"]
    options = EngineOptions(block_size=8, silence_guard=False)
    found = run(VoxCPMEngine(load_checkpoint(out, "cpu"), options), request("a"))["a"]
    assert_close(latents(found), latents(expected), 1e-5)
    assert_close(audio(found), audio(expected), 5e-4)


def test_an_adapter_of_the_decoder_alone_leaves_all_other_weights(
    tmp_path: Path, checkpoint: Checkpoint
) -> None:
    adapter = decoder_adapter(1)
    out = merged(tmp_path, adapter, DECODER)
    before, after = load_state(CHECKPOINT), load_state(out)
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    expected = vae_with(checkpoint.vae, decoder_layers(dict(adapter.scaled()))).state_dict()
    written = load_state(out, "audiovae")
    assert written.keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in written.items())
    again = replace(adapter, audio_vae_digest=load_checkpoint(out, "cpu").vae_digest)
    write_adapter(tmp_path / "again", again, DECODER)
    with pytest.raises(AdapterError, match="audio VAE"):
        merge(str(CHECKPOINT), tmp_path / "again", tmp_path / "third")


def test_an_adapter_without_a_decoder_leaves_the_audio_vae(tmp_path: Path, adapter: Adapter) -> None:
    out = merged(tmp_path, adapter, LORA)
    assert (out / "audiovae.pth").read_bytes() == (CHECKPOINT / "audiovae.pth").read_bytes()
    assert "audiovae.safetensors" not in names(out)


def test_a_checkpoint_is_written_with_another_audio_vae(tmp_path: Path, checkpoint: Checkpoint) -> None:
    vae = vae_with(checkpoint.vae, decoder_adapter(2).layers)
    write_checkpoint(CHECKPOINT, load_state(CHECKPOINT), tmp_path / "out", vae)
    found = load_checkpoint(tmp_path / "out", "cpu")
    for name, tensor in found.vae.state_dict().items():
        assert torch.equal(tensor, vae.state_dict()[name]), name
    assert found.weights_digest != "" and found.vae_digest != checkpoint.vae_digest


@pytest.mark.parametrize(
    ("base", "which", "out", "reason"),
    [
        (str(CHECKPOINT), "adapter", "taken", "taken exists"),
        (str(CHECKPOINT), "none", "out", "none has neither"),
        ("nowhere", "adapter", "out", "'nowhere' is not 'bundled'"),
        (str(CHECKPOINT), "adapter", "taken/file/out", "File exists"),
    ],
)
def test_what_cannot_be_merged_is_said(
    tmp_path: Path,
    adapter: Adapter,
    base: str,
    which: str,
    out: str,
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_adapter(tmp_path / "adapter", adapter, LORA)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    assert main([base, str(tmp_path / which), str(tmp_path / out)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and reason in line


def test_a_merge_that_failed_does_not_stand_in_the_way_of_the_next(
    tmp_path: Path, adapter: Adapter, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*given: object, **more: object) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    write_adapter(tmp_path / "adapter", adapter, LORA)
    command = [str(CHECKPOINT), str(tmp_path / "adapter"), str(tmp_path / "out")]
    with monkeypatch.context() as patch:
        patch.setattr("models.voxcpm.merging.save_file", full)
        assert main(command) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert names(tmp_path) == {"adapter"}
    assert main(command) == 0 and names(tmp_path) == {"adapter", "out"}
