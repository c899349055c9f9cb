"""A checkpoint with an adapter merged into its weights, for engines that serve no adapters.

What an adapter changes of the audio VAE's decoder is merged into that.

    python -m models.voxcpm.merging BASE ADAPTER OUT

BASE is "bundled", a directory or a repository id. OUT is a checkpoint like BASE, without its named voices:
who speaks is in the weights.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import save_file
from torch import Tensor

from engine.errors import WeightError
from engine.weights import load_state
from models.config_fields import ConfigError
from models.lora.adapter import AdapterError, merged
from models.lora.files import read_adapter
from models.voxcpm.adapters import adaptable
from models.voxcpm.checkpoint import (
    load_vae,
    read_config,
    resolve_model,
    vae_digest_of,
    weights_digest_of,
)
from models.voxcpm.vae.adapted_decoder import decoder_layers, vae_with
from models.voxcpm.vae.audio_vae import AudioVAE
from models.whole_files import replacing

_LEFT = ("model.", "model-", "pytorch_model", "watch.", "README", ".")
"""Beginnings of the names of files that are of other weights, or of no use."""
_VAE = "audiovae"


def write_checkpoint(
    source: Path, state: Mapping[str, Tensor], out: Path, vae: AudioVAE | None = None
) -> None:
    """The checkpoint in `source` with other weights; its own `name` is the folder's.

    vae: with the weights of the audio VAE; those of `source` where there is none.
    """
    left = _LEFT if vae is None else (*_LEFT, _VAE)
    out.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.is_file() and not file.name.startswith(left):
            shutil.copyfile(file, out / file.name)
    about = source / "generation_config.json"
    generation = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
    (out / about.name).write_text(json.dumps(generation | {"name": out.name}, indent=2) + "\n")
    if vae is not None:
        _write_weights(out / f"{_VAE}.safetensors", vae.state_dict())
    _write_weights(out / "model.safetensors", state)


def _write_weights(path: Path, state: Mapping[str, Tensor]) -> None:
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}
    with replacing(path) as partial:
        save_file(whole, partial, metadata={"format": "pt"})
        partial.chmod(0o644)


def merge(base: str, adapter: Path, out: Path) -> None:
    """Write `out`, whole or not at all.

    Raises AdapterError, also where `out` exists, ConfigError, engine.errors.WeightError, OSError.
    """
    source = resolve_model(base)
    if out.exists():
        raise AdapterError(f"{out} exists")
    config, digests = read_config(source), (lambda: weights_digest_of(source), lambda: vae_digest_of(source))
    found = read_adapter(adapter, adaptable(config), *digests)
    decoder = decoder_layers(dict(found.scaled()))
    rest = {name: layer for name, layer in found.layers.items() if name not in decoder}
    state = merged(load_state(source), replace(found, layers=rest))
    vae = vae_with(load_vae(source, config, torch.device("cpu")), decoder) if decoder else None
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as folder:
        written = Path(folder) / out.name
        write_checkpoint(source, state, written, vae)
        written.rename(out)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base")
    parser.add_argument("adapter", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args(argv)
    try:
        merge(given.base, given.adapter, given.out)
    except (AdapterError, ConfigError, WeightError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
