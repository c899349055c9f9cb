"""From a run's folder to pieces, from there to a checkpoint the product loads, and back into training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import soundfile
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from engine.errors import WeightError
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import BUNDLED_DIRECTORY, load_checkpoint
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.training.checkpoint import export as export_module
from models.voxcpm.training.checkpoint import pieces as pieces_module
from models.voxcpm.training.checkpoint.export import (
    FEATURES,
    REFERENCE_RESYNTHESIS,
    export,
    longest_audio,
    mean,
)
from models.voxcpm.training.checkpoint.model_card import TrainingFacts
from models.voxcpm.training.checkpoint.pieces import MOST_BYTES, gather, joined, split
from models.voxcpm.training.checkpoint.warm_start import load_language_model, load_vae
from models.voxcpm.training.lm.batches import LONGEST_REFERENCE, SHORTEST_REFERENCE
from models.voxcpm.training.lm.loss import initialize
from models.voxcpm.training.lm.train_lm import LMTrainer
from models.voxcpm.training.recipe import Recipe, voice_config
from models.voxcpm.training.speech.flite import VOICES
from models.voxcpm.training.speech.synthesis import write_validation_speech
from models.voxcpm.training.stages.progress import Progress
from models.voxcpm.training.vae.train_vae import adopt, write_vae
from models.voxcpm.vae.audio_encoding import AudioEncoder
from models.voxcpm.vae.audio_vae import AudioVAE

GENERATION = {
    "name": "a-tiny-voice",
    "languages": ["en"],
    "cfg_value": 1.5,
    "inference_timesteps": 4,
    "temperature": 0.9,
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, recipe: Recipe) -> Path:
    """What the stages leave: LM, VAE and both decoders, all different, and reports."""
    work = tmp_path_factory.mktemp("work")
    torch.manual_seed(5)
    model = VoxCPMModel(recipe.config)
    initialize(model)
    torch.save(model.state_dict(), work / "lm.pt")
    write_vae(work, AudioVAE(recipe.config.audio_vae_config))
    for name in ("decoder_plain.pt", "decoder.pt"):
        torch.save(AudioVAE(recipe.config.audio_vae_config).decoder.state_dict(), work / name)
    Progress(work, "lm").report("encoded", hours=12.0)
    Progress(work, "lm").report("running", step=700)
    return work


@pytest.fixture(scope="module")
def pieces(work: Path, recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pieces")
    gather(work, out, recipe.config)
    return out


@pytest.fixture(scope="module")
def exported(pieces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("checkpoint") / "voice"
    export(pieces, out, GENERATION, recipe="tiny")
    return out


def test_a_state_is_split_in_order_below_the_limit() -> None:
    state = {name: torch.zeros(size) for name, size in (("a", 10), ("b", 20), ("c", 500), ("d", 5))}
    parts = split(state, most_bytes=200)
    assert [list(part) for part in parts] == [["a", "b"], ["c"], ["d"]]
    assert MOST_BYTES < 16 * 2**20


def test_pieces_hold_the_newest_weights_in_sixteen_bits(work: Path, pieces: Path) -> None:
    final = torch.load(work / "decoder.pt", weights_only=True)
    plain = torch.load(work / "decoder_plain.pt", weights_only=True)
    for file, state in (("vae-decoder", final), ("vae-decoder-plain", plain)):
        stored = load_file(pieces / f"{file}.safetensors")
        assert {n.removeprefix("decoder.") for n in stored} == set(state)
        assert all(torch.equal(stored[f"decoder.{n}"], t.half()) for n, t in state.items())
    assert all(t.dtype == torch.bfloat16 for t in joined(pieces, "lm-*.safetensors").values())


def test_before_stage_two_the_decoder_is_that_of_stage_one(
    work: Path, tmp_path: Path, recipe: Recipe
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "vae.pt").symlink_to(work / "vae.pt")
    assert gather(tmp_path, tmp_path, recipe.config) == [
        "vae-decoder-plain.safetensors",
        "vae-decoder.safetensors",
        "vae-encoder.safetensors",
    ]
    state = torch.load(work / "vae.pt", weights_only=True)
    for name, tensor in load_file(tmp_path / "vae-decoder.safetensors").items():
        assert torch.equal(tensor, state[name].half())


def test_the_product_loads_what_was_exported_and_speaks(exported: Path, work: Path) -> None:
    checkpoint = load_checkpoint(exported, "cpu")
    assert checkpoint.generation == GENERATION and checkpoint.languages == ("en",)
    trained = torch.load(work / "lm.pt", weights_only=True)["base_lm.embed_tokens.weight"]
    assert torch.equal(checkpoint.model.base_lm.embed_tokens.weight, trained.bfloat16().float())
    final = torch.load(work / "decoder.pt", weights_only=True)["model.0.weight"]
    assert torch.equal(checkpoint.vae.decoder.model[0].weight, final.half().float())
    engine = VoxCPMEngine(checkpoint)
    assert engine.info.name == "a-tiny-voice" and engine.info.default_inference_timesteps == 4
    assert set(engine.info.voices) == {"default", *VOICES}
    engine.add_request(SpeechRequest("r", "Hello.", seed=1, voice="slt", max_seconds=0.24))
    outputs = []
    while engine.has_unfinished():
        outputs += engine.step()
    assert sum(len(output.audio) for output in outputs) == 3 * 1920


def test_each_voice_is_a_recording_of_a_length_that_training_has_seen(exported: Path) -> None:
    checkpoint = load_checkpoint(exported, "cpu")
    for voice in checkpoint.voices.values():
        assert voice.language == "en" and voice.description
        assert soundfile.info(voice.audio).samplerate == 24000
        latents = AudioEncoder(checkpoint).encode_file(voice.audio, "reference")
        assert SHORTEST_REFERENCE <= len(latents) <= LONGEST_REFERENCE


def test_the_bundled_voice_asks_for_no_longer_recordings_than_the_recipe_shows() -> None:
    generation = json.loads((BUNDLED_DIRECTORY / "generation_config.json").read_text())
    assert all(0 < generation[name] <= longest for name, longest in longest_audio(Recipe()).items())
    assert generation["features"] == FEATURES
    assert generation["reference_resynthesis"] == REFERENCE_RESYNTHESIS


def test_the_plain_decoder_can_be_chosen(pieces: Path, work: Path, tmp_path: Path) -> None:
    export(pieces, tmp_path, GENERATION, decoder="plain", recipe="tiny")
    plain = torch.load(work / "decoder_plain.pt", weights_only=True)["model.0.weight"]
    with safe_open(tmp_path / "audiovae.safetensors", "pt") as tensors:
        assert torch.equal(tensors.get_tensor("decoder.model.0.weight"), plain.half())


def test_the_card_says_what_the_voice_is_where_it_comes_from_and_what_it_cannot_do(exported: Path) -> None:
    card = (exported / "README.md").read_text()
    for statement in (
        "synthetic English voices,\nlearnt from two small speech synthesisers",
        "Apache-2.0",
        "CC0",
        "12 hours",
        "700 steps",
        "Carnegie Mellon",
        "What it cannot do",
        "From nothing",
    ):
        assert statement in card
    assert "{" not in card


def test_a_warm_start_is_named_in_the_facts(tmp_path: Path) -> None:
    report = {"stage": "lm", "state": "starting", "init": "bundled"}
    (tmp_path / "log.json").write_text(json.dumps([report]))
    assert TrainingFacts.of(tmp_path) == TrainingFacts(0.0, 0, warm_start=True)


def test_a_checkpoint_that_is_too_large_is_refused(
    pieces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "MOST_BYTES", 1_000_000)
    with pytest.raises(ValueError, match=r"more than 1"):
        export(pieces, tmp_path, GENERATION, recipe="tiny")


def test_a_missing_piece_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="lm-"):
        export(tmp_path, tmp_path / "out", GENERATION, recipe="tiny")


def test_the_bundled_shape_fits_into_the_package() -> None:
    """bf16 and fp16 take two bytes; a MiB stays for the voices and the rest."""
    config = voice_config()
    with torch.device("meta"):
        modules = VoxCPMModel(config), AudioVAE(config.audio_vae_config)
    size = 2 * sum(p.numel() for module in modules for p in module.parameters())
    assert size <= export_module.MOST_BYTES - 400_000


@pytest.mark.parametrize("source", ["pieces", "exported"])
def test_training_goes_on_from_pieces_or_from_a_checkpoint(
    source: str, request: pytest.FixtureRequest, tmp_path: Path, recipe: Recipe
) -> None:
    folder: Path = request.getfixturevalue(source)
    trainer = LMTrainer(recipe, tmp_path, torch.device("cpu"), Progress(tmp_path, "lm"), folder)
    stored = joined(folder, "lm-*.safetensors" if source == "pieces" else "model.safetensors")
    weight = trainer.model.base_lm.embed_tokens.weight
    assert torch.equal(weight, stored["base_lm.embed_tokens.weight"].float())
    assert trainer.step == 0 and not trainer.optimizer.state
    with torch.no_grad():
        weight.add_(1)
    trainer.start_anew()
    assert torch.equal(weight, stored["base_lm.embed_tokens.weight"].float())


def test_a_warm_start_keeps_the_encoder_bit_for_bit(
    pieces: Path, exported: Path, work: Path, tmp_path: Path, recipe: Recipe
) -> None:
    write_validation_speech(tmp_path, None, 1, recipe.validation_speakers[:2])
    adopt(exported, recipe, tmp_path, torch.device("cpu"), Progress(tmp_path, "vae"))
    gather(tmp_path, tmp_path, recipe.config)
    name = "vae-encoder.safetensors"
    assert (tmp_path / name).read_bytes() == (pieces / name).read_bytes()
    plain = torch.load(work / "decoder_plain.pt", weights_only=True)["model.0.weight"]
    assert torch.equal(load_vae(pieces, recipe.config)["decoder.model.0.weight"], plain.half().float())


def test_weights_of_another_shape_are_refused_by_name(exported: Path) -> None:
    with pytest.raises(WeightError, match="embed_tokens"):
        load_language_model(exported, VoxCPMModel(voice_config()))


def test_the_stages_and_the_pieces_agree_on_file_names() -> None:
    assert set(pieces_module.DECODERS) == set(pieces_module.DECODER_STATES)


def test_a_mean_lies_between_a_run_and_its_start() -> None:
    run = {"a": torch.tensor([1.0, 3.0], dtype=torch.bfloat16), "b": torch.zeros(2, 2)}
    found = mean(run, {"a": torch.tensor([3.0, 3.0], dtype=torch.bfloat16), "b": torch.ones(2, 2)}, 0.25)
    assert found["a"].tolist() == [2.5, 3.0] and found["a"].dtype == torch.bfloat16
    assert found["b"].tolist() == [[0.75, 0.75], [0.75, 0.75]]
    with pytest.raises(ValueError, match="other weights"):
        mean(run, {"a": run["a"], "b": torch.zeros(3)}, 0.5)


def test_a_checkpoint_may_be_the_mean_and_says_so(
    pieces: Path, tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "write_voices", lambda *given: None)
    export(pieces, tmp_path / "run", GENERATION, recipe="tiny")
    export(pieces, tmp_path / "mean", GENERATION, recipe="tiny", mean_with=tmp_path / "run")
    run, same = (load_file(tmp_path / each / "model.safetensors") for each in ("run", "mean"))
    assert all(torch.equal(run[name], same[name]) for name in run)
    assert "are a mean of" in (tmp_path / "mean" / "README.md").read_text()
    assert "are a mean of" not in (tmp_path / "run" / "README.md").read_text()
