"""A checkpoint with an adapter merged into its weights, for engines that serve no adapters.

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
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from engine.weights import load_state
from models.lora.adapter import AdapterError, merged
from models.lora.files import read_adapter
from models.voxcpm.adapters import adaptable
from models.voxcpm.checkpoint import read_config, resolve_model, weights_digest_of

_LEFT = ("model.", "model-", "pytorch_model", "watch.", "README", ".")
"""Beginnings of the names of files that are of other weights, or of no use."""


def write_checkpoint(source: Path, state: Mapping[str, Tensor], out: Path) -> None:
    """The checkpoint in `source` with other weights; its own `name` is the folder's."""
    out.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.is_file() and not file.name.startswith(_LEFT):
            shutil.copyfile(file, out / file.name)
    about = source / "generation_config.json"
    generation = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
    (out / about.name).write_text(json.dumps(generation | {"name": out.name}, indent=2) + "\n")
    partial = out / "model.safetensors.partial"
    save_file(
        {name: tensor.contiguous() for name, tensor in state.items()}, partial, metadata={"format": "pt"}
    )
    partial.chmod(0o644)
    partial.replace(out / "model.safetensors")


def merge(base: str, adapter: Path, out: Path) -> None:
    """Write `out`. Raises AdapterError, also where `out` exists, ConfigError, engine.errors.WeightError."""
    source = resolve_model(base)
    if out.exists():
        raise AdapterError(f"{out} exists")
    found = read_adapter(adapter, adaptable(read_config(source)), lambda: weights_digest_of(source))
    write_checkpoint(source, merged(load_state(source), found), out)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base")
    parser.add_argument("adapter", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args(argv)
    merge(given.base, given.adapter, given.out)
    print(given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
