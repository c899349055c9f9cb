"""A VoxCPM checkpoint on disk, in the released layout, and its loading.

    config.json  model.safetensors (or shards, or pytorch_model.bin)  audiovae.safetensors | audiovae.pth
    tokenizer.json  generation_config.json?  voices/voices.json?  watch.npz?

The last three are ours and optional: default guidance and step count, named reference voices, and the
statistics of good speech.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from engine.device.devices import default_dtype, runs_triton, select_device
from engine.layers.packed import weight_dtype
from engine.parallel.part import WHOLE, Part
from engine.parallel.ranks import Ranks
from engine.weights import find_checkpoint, load_into, load_state
from models.bounds import Bounds
from models.config_fields import ConfigError, read_generation, read_json
from models.download import fetch, find_directory, is_repository
from models.revision import revision_of
from models.speech import MOST_CHARACTERS
from models.transformer.packed import pack_model
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.requests.tokenizer import TextTokenizer
from models.voxcpm.vae.audio_vae import AudioVAE, fold_weight_norm
from models.voxcpm.watch.statistics import SpeechStatistics

logger = logging.getLogger(__name__)

BUNDLED_DIRECTORY = Path(__file__).parent / "bundled"
Progress = Callable[[str, float], None]
_FIRST_LANGUAGES = ("en", "zh")
"""Of VoxCPM-0.5B and VoxCPM1.5; those of VoxCPM2, as its authors list them, need no tag:"""
_RELEASED_LANGUAGES = (
    "en", "zh", "ar", "da", "de", "el", "es", "fi", "fr", "he", "hi", "id", "it", "ja", "km", "ko", "lo",
    "ms", "my", "nl", "no", "pl", "pt", "ru", "sv", "sw", "th", "tl", "tr", "vi",
)  # fmt: skip

REQUEST_BOUNDS = {
    "cfg_value": Bounds(0.0, 10.0),
    "inference_timesteps": Bounds(2, 100, whole=True),
    "temperature": Bounds(0.0, 2.0),
}
"""Bounds of what a request may choose, and a checkpoint recommends."""
_DAY = 86_400  # seconds
NUMBERS = REQUEST_BOUNDS | {
    "max_text_characters": Bounds(1, MOST_CHARACTERS, whole=True),
    "part_characters": Bounds(1, MOST_CHARACTERS, whole=True),
    "max_reference_seconds": Bounds(0, _DAY, above=True),
    "max_prompt_seconds": Bounds(0, _DAY, above=True),
    "reference_resynthesis": Bounds(0, 1),
}
"""Bounds of the numbers in `generation_config.json`."""
KINDS = {"name": str, "languages": list[str], "features": list[str]}
"""Types of other fields of the same file."""


@dataclass(frozen=True)
class Voice:
    """A named voice of a checkpoint. `audio` is its reference clip; None is the voice of no reference."""

    name: str
    audio: Path | None
    language: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()


@dataclass
class Checkpoint:
    """Everything read from disk, on its device and ready to run."""

    name: str
    revision: str
    directory: Path
    config: VoxCPMConfig
    model: VoxCPMModel
    vae: AudioVAE
    tokenizer: TextTokenizer
    device: torch.device
    dtype: torch.dtype
    generation: dict[str, Any] = field(default_factory=dict)
    voices: dict[str, Voice] = field(default_factory=dict)
    statistics: SpeechStatistics | None = None
    """Statistics of its good speech, by which flaws are noticed."""
    part: Part = WHOLE
    """What `model` is of the whole network."""
    ranks: Ranks | None = None
    """The other ranks, where this is rank 0's part."""

    @cached_property
    def weights_digest(self) -> str:
        """Hash of the language models' and the DiT's weights alone: what an adapter was trained for."""
        return weights_digest_of(self.directory)

    @cached_property
    def vae_digest(self) -> str:
        """Hash of the audio VAE's weights alone: what latents were made by."""
        return vae_digest_of(self.directory)

    @property
    def whole_sentences(self) -> bool:
        """It says that it speaks in parts: it learnt sentences that end, and nothing else."""
        return "part_characters" in self.generation

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639 codes: those that it names, else those of its generation's release."""
        released = _RELEASED_LANGUAGES if self.config.supports_reference else _FIRST_LANGUAGES
        return tuple(self.generation.get("languages", released))


def resolve_model(model: str | Path, progress: Progress | None = None) -> Path:
    """Directory of `model`: "bundled", a local directory, or `owner/name[@revision]` on the Hugging Face hub.

    Raises ConfigError when it is none of them.
    """
    if model == "bundled":
        if not (BUNDLED_DIRECTORY / "config.json").is_file():
            raise ConfigError(f"the bundled checkpoint is missing from {BUNDLED_DIRECTORY}")
        return BUNDLED_DIRECTORY
    model = str(model)
    if (path := find_directory(model)) is not None:
        return path
    if not is_repository(model):
        raise ConfigError(
            f"model {model!r} is not 'bundled', a directory or a repository id like openbmb/VoxCPM2"
        )
    if progress:
        progress("download", 0.0)
    return fetch(model)


def read_config(directory: Path) -> VoxCPMConfig:
    """The configuration of a checkpoint directory. Raises ConfigError."""
    return VoxCPMConfig.from_dict(read_json(directory / "config.json"))


def load_checkpoint(
    directory: Path,
    device: str = "auto",
    dtype: torch.dtype | None = None,
    progress: Progress | None = None,
    cpu_weights: str = "float32",
    trainable: bool = False,
    part: Part = WHOLE,
) -> Checkpoint:
    """Load a checkpoint directory, or rank 0's part of it.

    dtype is that of the language models and the DiT: fp32 on a CPU, bf16 on CUDA unless given; the
    audio VAE is always fp32. cpu_weights: in which precision a CPU keeps the weights of these models, see
    `engine.layers.packed.weight_dtype`. `progress(stage, fraction)` is told how far an engine is. trainable:
    gradients pass through its layers, which are not those that speak fastest. Raises ConfigError or
    engine.errors.WeightError naming what is wrong.
    """
    report = progress or (lambda stage, fraction: None)
    target = select_device(device)
    dtype = dtype or default_dtype(target)
    report("config", 0.0)
    config, generation = read_config(directory), read_generation(directory, NUMBERS, KINDS)
    tokenizer_file = directory / "tokenizer.json"
    if not tokenizer_file.is_file():
        raise ConfigError(f"{directory} has no tokenizer.json")
    report("weights", 0.05)
    model = load_network(directory, target, dtype, cpu_weights, trainable, part)
    report("audio vae", 0.35)
    vae = load_vae(directory, config, target)
    report("device", 0.45)
    voices = _read_voices(directory / "voices")
    return Checkpoint(
        name=directory.resolve().name,
        revision=_revision(directory, voices),
        directory=directory,
        config=config,
        model=model,
        vae=vae,
        tokenizer=TextTokenizer.from_file(tokenizer_file),
        device=target,
        dtype=dtype,
        generation=generation,
        voices=voices,
        statistics=_read_statistics(directory, config),
        part=part,
    )


def load_vae(directory: Path, config: VoxCPMConfig, device: torch.device) -> AudioVAE:
    """The audio VAE of a checkpoint directory. Raises engine.errors.WeightError."""
    with torch.device("meta"):
        vae = AudioVAE(config.audio_vae_config)
    load_into(vae, fold_weight_norm(load_state(directory, "audiovae")), device=device)
    return vae.to(device).eval().requires_grad_(False)


def plan_network(directory: Path, part: Part = WHOLE) -> VoxCPMModel:
    """The network of a directory, on the meta device. Raises ConfigError, and RequestError where it cannot be
    divided so."""
    with torch.device("meta"):
        return VoxCPMModel(read_config(directory), part)


def load_network(
    directory: Path,
    device: torch.device,
    dtype: torch.dtype,
    cpu_weights: str = "float32",
    trainable: bool = False,
    part: Part = WHOLE,
) -> VoxCPMModel:
    """`load_checkpoint` of the language models and the DiT alone, or one rank's part of them."""
    model = plan_network(directory, part)
    load_into(model, load_state(directory), dtype=dtype, device=device)
    model.to(device).eval().requires_grad_(False)
    if not trainable:
        _suit(model, device, weight_dtype(cpu_weights, model.config.dtype))
    return model


def _suit(model: VoxCPMModel, device: torch.device, cpu_weights: torch.dtype) -> None:
    """Give `model` the form of its layers that is fastest on `device`."""
    if runs_triton(device):
        from models.voxcpm.fused.model import fuse_model

        fuse_model(model)
    elif device.type != "cuda":
        pack_model(model, cpu_weights)


def _read_voices(directory: Path) -> dict[str, Voice]:
    voices = {}
    for name, entry in read_json(directory / "voices.json", optional=True).items():
        if not isinstance(entry, dict) or not isinstance(entry.get("audio") or "", str):
            raise ConfigError(f"voice {name!r} is not an object whose audio is a file name")
        audio = directory / Path(entry["audio"]).name if entry.get("audio") else None
        if audio is not None and not audio.is_file():
            raise ConfigError(f"voice {name!r} names {audio}, which does not exist")
        said = [entry.get(field) or "" for field in ("language", "description")]
        tags = entry.get("tags") or []
        if not isinstance(tags, list) or not all(isinstance(word, str) for word in (*said, *tags)):
            raise ConfigError(f"voice {name!r}: language and description are text, tags a list of it")
        voices[name] = Voice(name, audio, *said, tuple(tags))
    return voices


def _read_statistics(directory: Path, config: VoxCPMConfig) -> SpeechStatistics | None:
    try:
        found = SpeechStatistics.load(directory)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ConfigError(f"the statistics of speech in {directory} cannot be read: {error}") from error
    if found is not None and len(found.whitener) != config.feat_dim:
        raise ConfigError(f"the statistics of speech in {directory} are not of {config.feat_dim} values")
    return found


def weights_digest_of(directory: Path) -> str:
    """`Checkpoint.weights_digest` of a checkpoint directory."""
    return revision_of(find_checkpoint(directory))


def vae_digest_of(directory: Path) -> str:
    """`Checkpoint.vae_digest` of a checkpoint directory."""
    return revision_of(find_checkpoint(directory, "audiovae"))


def _revision(directory: Path, voices: Mapping[str, Voice]) -> str:
    """Hash over every file that decides what comes out; equal on every machine with the same checkpoint."""
    files = [directory / "config.json", directory / "tokenizer.json"]
    files += find_checkpoint(directory) + find_checkpoint(directory, "audiovae")
    files += filter(
        Path.is_file, (directory / "generation_config.json", directory / "voices" / "voices.json")
    )
    files += sorted({voice.audio for voice in voices.values() if voice.audio is not None})
    return revision_of(files)
