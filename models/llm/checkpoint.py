"""A checkpoint of a text model on disk, in the released layout, and its loading.

config.json  model.safetensors (or shards)  tokenizer.json  tokenizer_config.json?  generation_config.json?
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from engine.device.devices import default_dtype, runs_triton, select_device
from engine.layers.packed import weight_dtype
from engine.parallel.part import WHOLE, Part
from engine.parallel.ranks import Ranks
from engine.weights import find_checkpoint, load_into, load_state
from models import download
from models.config_fields import ConfigError, read_generation, read_json
from models.llm.families import Family, TextConfig, family_of
from models.llm.sampling_params import RECOMMENDED
from models.llm.tokenizer import TextTokenizer
from models.revision import revision_of
from models.transformer.packed import pack_model

TIED_HEAD = "lm_head.weight"
"""In some files although it is the embedding."""


@dataclass
class TextCheckpoint:
    """Everything read from disk, on its device and ready to run."""

    name: str
    """The name of the directory, or of the repository of a hub."""
    directory: Path
    config: TextConfig
    model: Any
    """A `models.llm.families.TextModel`."""
    tokenizer: TextTokenizer | None
    """None where the directory has no tokenizer.json: such a model takes and gives token ids alone."""
    device: torch.device
    dtype: torch.dtype
    kv_dtype: torch.dtype
    """Type of cached keys and values: on a CPU that of the packed weights, whose products round to it."""
    generation: dict[str, Any] = field(default_factory=dict)
    """`generation_config.json`."""
    part: Part = WHOLE
    """What `model` is of the whole network."""
    ranks: Ranks | None = None
    """The other ranks, where this is rank 0's part."""

    def revision(self) -> str:
        """Hash of all files that decide what it writes, which are read for it."""
        named = ("config", "tokenizer", "tokenizer_config", "generation_config")
        small = [self.directory / f"{name}.json" for name in named]
        small.append(self.directory / "chat_template.jinja")
        return revision_of([*filter(Path.is_file, small), *find_checkpoint(self.directory)])

    @property
    def end_ids(self) -> tuple[int, ...]:
        """Tokens that end an answer."""
        found = list(self.generation.get("eos_token_id", []))
        if self.tokenizer is not None and self.tokenizer.end_id is not None:
            found.append(self.tokenizer.end_id)
        return tuple(dict.fromkeys(found))


def find_directory(model: str | Path) -> Path:
    """The checkpoint's directory; a repository id of a hub is downloaded first. Raises ConfigError."""
    model = str(model)
    if (directory := download.find_directory(model)) is not None:
        return directory
    if not download.is_repository(model):
        raise ConfigError(f"{model!r} is neither a directory nor a repository id like Qwen/Qwen3-0.6B")
    return download.fetch(model)


def read_config(directory: Path) -> tuple[Family, TextConfig]:
    """What `config.json` says. Raises ConfigError."""
    data = read_json(directory / "config.json")
    family = family_of(data)
    return family, family.read_config(data)


def plan_network(directory: Path, part: Part = WHOLE) -> Any:
    """The network of a directory, on the meta device. Raises ConfigError, RequestError as `Family.build`."""
    family, config = read_config(directory)
    with torch.device("meta"):
        return family.build(config, part)


def load_text_checkpoint(
    model: str | Path,
    device: str = "auto",
    dtype: torch.dtype | None = None,
    cpu_weights: str = "auto",
    part: Part = WHOLE,
) -> TextCheckpoint:
    """Load a directory or a repository id of a hub, or one rank's part of it.

    dtype: fp32 on a CPU, bf16 on CUDA unless given. cpu_weights: in which precision a CPU keeps its weights,
    see `engine.layers.packed.weight_dtype`. Raises ConfigError or engine.errors.WeightError naming
    what is wrong.
    """
    directory = find_directory(model)
    generation = _read_generation(directory)
    target = select_device(device)
    dtype = dtype or default_dtype(target)
    network = plan_network(directory, part)
    config = network.config
    ignored = (TIED_HEAD,) if config.tie_word_embeddings else ()
    load_into(network, load_state(directory), dtype=dtype, device=target, ignore=ignored)
    network.to(target).eval().requires_grad_(False)
    kv_dtype = dtype
    if runs_triton(target):
        from models.transformer.fused import fuse_layers

        fuse_layers(network)
    elif target.type == "cpu":
        kv_dtype = weight_dtype(cpu_weights, config.torch_dtype)
        pack_model(network, kv_dtype)
    return TextCheckpoint(
        name=directory.resolve().name if Path(model).is_dir() else model.partition("@")[0],
        directory=directory,
        config=config,
        model=network,
        tokenizer=read_tokenizer(directory),
        device=target,
        dtype=dtype,
        kv_dtype=kv_dtype,
        generation=generation,
        part=part,
    )


def read_tokenizer(directory: Path) -> TextTokenizer | None:
    """None where there is no tokenizer.json. Raises ConfigError."""
    return TextTokenizer.from_directory(directory) if (directory / "tokenizer.json").is_file() else None


def _read_generation(directory: Path) -> dict[str, Any]:
    """`generation_config.json`, with a list of end tokens; those of config.json where it has none."""
    generation = read_generation(directory, RECOMMENDED)
    ends = generation.get("eos_token_id", read_json(directory / "config.json").get("eos_token_id"))
    found = ends if isinstance(ends, list) else [] if ends is None else [ends]
    if not all(isinstance(token, int) for token in found):
        raise ConfigError(f"{directory}: eos_token_id must be token ids, got {ends!r}")
    return generation | ({"eos_token_id": found} if found else {})
