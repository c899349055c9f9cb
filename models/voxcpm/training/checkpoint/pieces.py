"""Gathers the newest weights of a run into files of at most 16 MiB: the released names, 16 bits each.

Language model: bf16, in `lm-0.safetensors` and so on. Audio VAE: fp16 (its weights need the finer
mantissa), encoder and decoder apart, and the decoder as it was before the adversarial part. Also
`log.json`, the reports of all stages, and `samples.npz`.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from engine.weights import export_state
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.training.recipe import recipe_named
from models.whole_files import write_atomically

MOST_BYTES = 15 * 2**20
LANGUAGE_MODEL = "lm-*.safetensors"
ENCODER = "vae-encoder.safetensors"
DECODERS = {"plain": "vae-decoder-plain.safetensors", "final": "vae-decoder.safetensors"}
DECODER_STATES = {"plain": "decoder_plain.pt", "final": "decoder.pt"}


def joined(folder: Path, pattern: str) -> dict[str, Tensor]:
    """All tensors of the files that match. Raises FileNotFoundError where none does."""
    files = sorted(folder.glob(pattern))
    if not files:
        raise FileNotFoundError(f"no {pattern} in {folder}")
    return {name: tensor for file in files for name, tensor in load_file(file).items()}


def split(state: dict[str, Tensor], most_bytes: int = MOST_BYTES) -> list[dict[str, Tensor]]:
    """Parts of a state, in order, each of at most `most_bytes`."""
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for name, tensor in state.items():
        if size + tensor.nbytes > most_bytes and parts[-1]:
            parts.append({})
            size = 0
        parts[-1][name] = tensor
        size += tensor.nbytes
    return parts


def language_model_pieces(config: VoxCPMConfig, state: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """File name -> tensors under their released names, bf16."""
    model = VoxCPMModel(config)
    model.load_state_dict(state)
    released = {
        name: tensor.to(torch.bfloat16).contiguous() for name, tensor in sorted(export_state(model).items())
    }
    return {LANGUAGE_MODEL.replace("*", str(i)): part for i, part in enumerate(split(released))}


def vae_pieces(work: Path) -> dict[str, dict[str, Tensor]]:
    """Encoder and both decoders, fp16, with the released names `encoder.*` and `decoder.*`."""
    state = torch.load(work / "vae.pt", weights_only=True)
    pieces = {ENCODER: {n: t for n, t in state.items() if n.startswith("encoder.")}}
    decoder = {n: t for n, t in state.items() if n.startswith("decoder.")}
    for kind, name in DECODERS.items():
        trained = work / DECODER_STATES[kind]
        if trained.exists():
            decoder = {f"decoder.{n}": t for n, t in torch.load(trained, weights_only=True).items()}
        pieces[name] = decoder
    return {file: {n: t.half().contiguous() for n, t in tensors.items()} for file, tensors in pieces.items()}


def gather(work: Path, out: Path, config: VoxCPMConfig) -> list[str]:
    """Write what there is; returns the names of the files."""
    pieces: dict[str, dict[str, Tensor]] = {}
    if (work / "lm.pt").exists():
        pieces |= language_model_pieces(config, torch.load(work / "lm.pt", weights_only=True))
    if (work / "vae.pt").exists():
        pieces |= vae_pieces(work)
    for name, tensors in pieces.items():
        write_atomically(out / name, save(tensors))
    reports = [
        json.loads(line)
        for path in sorted((work / "logs").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    write_atomically(out / "log.json", json.dumps(reports).encode())
    if (work / "samples.npz").exists():
        shutil.copyfile(work / "samples.npz", out / "samples.npz")
    return sorted(pieces)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recipe", choices=("voice", "tiny"), default="voice")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    print(gather(args.work, args.out, recipe_named(args.recipe).config))


if __name__ == "__main__":
    main()
