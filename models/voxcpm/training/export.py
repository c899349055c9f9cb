"""Joins the pieces of a run into a checkpoint in the released layout, voices included.

    python -m models.voxcpm.training.export --pieces DIR --out models/voxcpm/bundled --decoder final

The named voices are short recordings of flite, made here; the files together stay below 40 MiB.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import soundfile
from safetensors.torch import load_file, save_file

from . import synthesis
from .recipe import DEFAULT_VOICE
from .tokenizer_file import write_tokenizer
from .training_common import recipe_named

REFERENCE_TEXT = "A gentle breeze moved the leaves while we walked along the river."
DESCRIPTIONS = {
    "rms": "man, even and clear (the default without a reference)",
    "slt": "woman",
    "awb": "man, Scottish accent",
    "kal16": "man, diphone voice",
}
MOST_BYTES = 40 * 2**20
MODEL_CARD = """# VoxFleet's bundled voice

A VoxCPM2-architecture text-to-speech model of {lm_millions:.1f} M parameters with an audio VAE of {vae_millions:.1f} M,
16 kHz, English. **It speaks with synthetic voices made from flite**, Debian's small speech synthesiser,
and is there for demonstration and testing: so that a fresh clone speaks on a CPU without a download. For
natural speech load one of the published VoxCPM models.

* Trained from nothing by `models/voxcpm/training` on {hours:.0f} hours of speech that flite read aloud (voices
  slt, rms, awb and kal16 of Carnegie Mellon University, free licence); {lm_steps} steps of the language model.
* Without a reference it speaks as {default}; the other voices come from the recordings in `voices/`.
* Text is lower-cased character by character; what flite does not know how to read, it does not either.
* Limits: English only, sentences up to about 15 seconds, flite's own accent and errors.
"""


def joined(pieces: Path, pattern: str) -> dict:
    """All tensors of the files that match."""
    files = sorted(pieces.glob(pattern))
    if not files:
        raise FileNotFoundError(f"no {pattern} in {pieces}")
    return {name: tensor for file in files for name, tensor in load_file(file).items()}


def write_voices(folder: Path, carry: Path) -> None:
    """One FLAC recording of about three seconds per voice, and voices.json."""
    folder.mkdir(parents=True, exist_ok=True)
    flite = synthesis.Flite(carry)
    gains = synthesis.voice_gains(flite)
    entries = {}
    for voice in DESCRIPTIONS:
        samples = synthesis.speak(flite, REFERENCE_TEXT, voice, gains)
        soundfile.write(
            folder / f"{voice}.flac", samples.astype(np.int16), synthesis.SAMPLE_RATE, subtype="PCM_16"
        )
        entries[voice] = {"audio": f"{voice}.flac", "language": "en", "description": DESCRIPTIONS[voice]}
    (folder / "voices.json").write_text(json.dumps(entries, indent=2) + "\n")


def training_facts(pieces: Path) -> dict[str, float]:
    """Hours of speech and steps, as the run reported them."""
    reports = json.loads((pieces / "log.json").read_text())
    hours = [r["hours"] for r in reports if r["state"] == "encoded"]
    steps = [r["step"] for r in reports if r["stage"] == "lm" and "step" in r]
    return {"hours": hours[-1] if hours else 0.0, "lm_steps": max(steps, default=0)}


def export(pieces: Path, out: Path, carry: Path, decoder: str, recipe: str) -> int:
    """Write the checkpoint; returns its size in bytes. Raises ValueError when that is too much."""
    out.mkdir(parents=True, exist_ok=True)
    model = joined(pieces, "lm-*.safetensors")
    vae = joined(pieces, "vae-encoder.safetensors")
    vae |= joined(
        pieces, "vae-decoder.safetensors" if decoder == "final" else "vae-decoder-plain.safetensors"
    )
    save_file(model, out / "model.safetensors")
    save_file(vae, out / "audiovae.safetensors")
    config = recipe_named(recipe).config
    (out / "config.json").write_text(json.dumps(config.to_dict(), indent=2) + "\n")
    write_tokenizer(out)
    write_voices(out / "voices", carry)
    facts = training_facts(pieces)
    counts = {
        "lm_millions": sum(t.numel() for t in model.values()) / 1e6,
        "vae_millions": sum(t.numel() for t in vae.values()) / 1e6,
    }
    (out / "README.md").write_text(MODEL_CARD.format(default=DEFAULT_VOICE, **facts, **counts))
    for weights in out.glob("*.safetensors"):
        weights.chmod(0o644)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        raise ValueError(f"the checkpoint has {size / 2**20:.2f} MiB, more than {MOST_BYTES / 2**20:.0f}")
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pieces", type=Path, required=True, help="output folder of the pipeline")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--carry", type=Path, default=Path(".carry"))
    parser.add_argument(
        "--decoder", choices=("final", "plain"), default="final", help="plain: before the adversarial part"
    )
    parser.add_argument("--recipe", choices=("voice", "tiny"), default="voice")
    args = parser.parse_args()
    size = export(args.pieces, args.out, args.carry, args.decoder, args.recipe)
    print(f"{args.out}: {size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
