"""Joins the pieces of a run into a checkpoint in the released layout, named voices included.

    python -m models.voxcpm.training.checkpoint.export --pieces DIR --out models/voxcpm/bundled

With `--mean-with models/voxcpm/bundled`, where a run went on from that voice, the language model is a mean of
both, `--mean-share` of it the run's. The named voices are short recordings of the teachers, made here. The
files together stay below 40 MiB.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import soundfile
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.voxcpm.training.checkpoint.model_card import DEFAULTS, TrainingFacts, model_card
from models.voxcpm.training.checkpoint.pieces import DECODERS, ENCODER, LANGUAGE_MODEL, joined
from models.voxcpm.training.lm.batches import LONGEST_REFERENCE
from models.voxcpm.training.recipe import Recipe, recipe_named
from models.voxcpm.training.speech.teachers import SPEECH_RATE, Speaker, Teachers
from models.voxcpm.training.texts.tokenizer_file import write_tokenizer

REFERENCE_RESYNTHESIS = 0.5
"""See `models.voxcpm.vae.audio_encoding`: so that recordings of strangers are taken for no teacher."""
REFERENCE_TEXT = "A gentle breeze moved the leaves along the river."
MOST_BYTES = 40 * 2**20
FEATURES = ["reference", "prompt", "words_only"]


def write_voices(
    folder: Path, voices: dict[str, tuple[Speaker, str, tuple[str, ...]]], carry: Path | None
) -> None:
    """One FLAC recording of about three seconds per voice, and voices.json."""
    folder.mkdir(parents=True, exist_ok=True)
    teachers, entries = Teachers(carry), {}
    for voice, (speaker, description, tags) in voices.items():
        samples = teachers.read(REFERENCE_TEXT, speaker, random.Random(0))
        soundfile.write(folder / f"{voice}.flac", samples, SPEECH_RATE, subtype="PCM_16")
        about = {"language": "en", "description": description, "tags": tags}
        entries[voice] = {"audio": f"{voice}.flac", **about}
    write_json(folder / "voices.json", entries)


def write_weights(path: Path, state: dict[str, Tensor]) -> None:
    """A safetensors file that everybody may read."""
    save_file(state, path, metadata={"format": "pt"})
    path.chmod(0o644)


def write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def export(
    pieces: Path,
    out: Path,
    generation: dict[str, Any],
    decoder: str = "final",
    recipe: str = "voice",
    carry: Path | None = None,
    mean_with: Path | None = None,
    mean_share: float = 0.5,
) -> int:
    """Write the checkpoint; returns the size of its files in bytes.

    generation: content of generation_config.json, with `name`, `languages` and the defaults of a request.
    decoder: "final", or "plain" for the one before the adversarial part. mean_with: a checkpoint, see `mean`.
    Raises FileNotFoundError where a piece is missing, ValueError where the files are too large or that
    checkpoint has other weights.
    """
    out.mkdir(parents=True, exist_ok=True)
    chosen = recipe_named(recipe)
    config = chosen.config
    model = joined(pieces, LANGUAGE_MODEL)
    if mean_with is not None:
        model = mean(model, load_file(mean_with / "model.safetensors"), mean_share)
    vae = joined(pieces, ENCODER) | joined(pieces, DECODERS[decoder])
    write_weights(out / "model.safetensors", model)
    write_weights(out / "audiovae.safetensors", vae)
    write_json(out / "config.json", config.to_dict())
    write_json(out / "generation_config.json", generation)
    write_tokenizer(out)
    write_voices(out / "voices", chosen.named_voices, carry)
    facts = replace(TrainingFacts.of(pieces), averaged=mean_with is not None)
    (out / "README.md").write_text(model_card(config, generation, facts, model, vae))
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        raise ValueError(f"the checkpoint has {size / 2**20:.2f} MiB, more than {MOST_BYTES / 2**20:.0f}")
    return size


def mean(run: dict[str, Tensor], start: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Between the weights that a run started from (share 0) and its own (share 1), in the type of its own.

    Both lie in one valley, and their mean often knows more than either: "Model soups" (Wortsman et al.,
    2022). Raises ValueError where names or shapes differ.
    """
    if {n: t.shape for n, t in run.items()} != {n: t.shape for n, t in start.items()}:
        raise ValueError("the checkpoint for the mean has other weights than the run")
    return {
        name: torch.lerp(start[name].float(), own.float(), share).to(own.dtype) for name, own in run.items()
    }


def longest_audio(recipe: Recipe) -> dict[str, float]:
    """The longest reference and prompt that training shows, in seconds."""
    patch_seconds = recipe.config.patch_seconds
    patches = {"max_reference_seconds": LONGEST_REFERENCE, "max_prompt_seconds": recipe.lm.longest_prompt}
    return {name: round(count * patch_seconds, 3) for name, count in patches.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pieces", type=Path, required=True, help="output folder of the pipeline")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--carry", type=Path, help="folder with what the teachers need, where not installed")
    parser.add_argument(
        "--decoder", choices=tuple(DECODERS), default="final", help="plain: before the adversarial part"
    )
    parser.add_argument("--recipe", choices=("voice", "tiny"), default="voice")
    parser.add_argument("--name", default="voxfleet-mini-en")
    parser.add_argument("--cfg-value", type=float, default=2.0)
    parser.add_argument("--inference-timesteps", type=int, default=10)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument(
        "--max-text-characters", type=int, default=500, help="what max_length leaves room for"
    )
    parser.add_argument(
        "--part-characters", type=int, default=160, help="longer text is spoken in parts of this length"
    )
    parser.add_argument("--mean-with", type=Path, metavar="CHECKPOINT", help="that the run went on from")
    parser.add_argument("--mean-share", type=float, default=0.5, help="of the run in that mean, 0 to 1")
    args = parser.parse_args()
    if not 0 <= args.mean_share <= 1:
        parser.error("--mean-share must be between 0 and 1")
    generation = {"name": args.name, "languages": ["en"], "features": FEATURES}
    generation |= {name: getattr(args, name) for name in DEFAULTS} | longest_audio(recipe_named(args.recipe))
    generation["reference_resynthesis"] = REFERENCE_RESYNTHESIS
    generation["adapt_decoder"] = True
    size = export(
        *(args.pieces, args.out, generation, args.decoder, args.recipe, args.carry),
        *(args.mean_with, args.mean_share),
    )
    print(f"{args.out}: {size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
