"""Does a sentence sound better when it continues from the one before, or when it begins anew?

    python -m benchmarks.voice.continuity --voice default walter --groups 12 --json continuity.json

Held-out sentences are spoken in groups of three, as a live session or a long text would: each by itself, and
each with the text and the latents of the one before as its prompt, beside the voice's own reference. Reported
of the second and third sentence of each group: opinion score by DistillMOS, word error rate by Whisper, share
of clips that ran away, length, how far the median pitch and the loudness move from sentence to sentence.
`benchmarks/voice/judging/judges.py` tells what to install.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.judging.measures import SAMPLE_RATE, median_pitch, spoken_seconds, word_error_rate
from models.speech import SpeechRequest
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines
from models.voxcpm.vae.audio_encoding import resample

GROUP = 3
MOST_PROMPT_SECONDS = 10.0


@dataclass(frozen=True)
class Sentence:
    """One sentence as it was spoken: float32 samples at 16 kHz, latents float32 [n, P, D]."""

    text: str
    samples: np.ndarray
    latents: np.ndarray
    finish_reason: str


def speak(engine: VoxCPMEngine, text: str, voice: str, seed: int, before: Sentence | None) -> Sentence:
    """One sentence, as a continuation of `before` if there is one that is not too long."""
    request = SpeechRequest("continuity", text, seed, voice)
    if before is not None and len(before.latents) * engine.info.patch_seconds <= MOST_PROMPT_SECONDS:
        request.prompt_text, request.prompt_latents = f"{before.text} ", before.latents
    engine.add_request(request)
    outputs = []
    while engine.has_unfinished():
        outputs += engine.step()
    audio = np.concatenate([output.audio for output in outputs])
    latents = np.stack([output.latents for output in outputs if output.latents.size])
    samples = resample(audio, engine.info.sample_rate, SAMPLE_RATE)
    return Sentence(text, samples, latents, outputs[-1].finish_reason or "")


def speak_groups(engine: VoxCPMEngine, texts: list[str], voice: str, continued: bool) -> list[list[Sentence]]:
    """The texts in groups, one after the other; the same seed within a group."""
    groups = []
    for first in range(0, len(texts), GROUP):
        group: list[Sentence] = []
        for text in texts[first : first + GROUP]:
            before = group[-1] if continued and group else None
            group.append(speak(engine, text, voice, seed=first, before=before))
        groups.append(group)
    return groups


def figures(groups: list[list[Sentence]]) -> dict[str, Any]:
    """What was measured of the later sentences of all groups."""
    later = [sentence for group in groups for sentence in group[1:]]
    judges = Judges()
    heard = [judges.words(sentence.samples) for sentence in later]
    pitches = [[median_pitch(sentence.samples) for sentence in group] for group in groups]
    levels = [[_level_db(sentence.samples) for sentence in group] for group in groups]
    return {
        "clips": len(later),
        "mos": float(np.mean([judges.opinion_score(sentence.samples) for sentence in later])),
        "word_error_rate": word_error_rate([sentence.text for sentence in later], heard),
        "ran_away": sum(sentence.finish_reason != "stop" for sentence in later) / len(later),
        "seconds": sum(spoken_seconds(sentence.samples) for sentence in later),
        "median_pitch_hz": float(np.nanmedian([pitch for row in pitches for pitch in row[1:]])),
        "pitch_step_percent": 100 * _mean_step(np.log(pitches)),
        "level_step_db": _mean_step(np.array(levels)),
    }


def _known(values: dict[str, Any]) -> dict[str, Any]:
    """What could not be measured (nothing voiced, nothing audible) is None, as JSON has no nan."""
    return {
        name: None if isinstance(value, float) and np.isnan(value) else value
        for name, value in values.items()
    }


def _level_db(samples: np.ndarray) -> float:
    loud = np.abs(samples) > 0.02
    return float(10 * np.log10((samples[loud] ** 2).mean())) if loud.any() else float("nan")


def _mean_step(values: np.ndarray) -> float:
    """Mean absolute difference between neighbours of a row."""
    steps = np.abs(np.diff(values, axis=1))
    return float(np.nanmean(steps)) if np.isfinite(steps).any() else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--voice", nargs="+", default=["default"])
    parser.add_argument("--groups", type=int, default=12)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    engine = load_engine(options.model, "cpu", max_num_seqs=1)
    texts = read_lines(HELD_OUT_FILE)[: GROUP * options.groups]
    results = {}
    for voice in options.voice:
        for name, continued in (("alone", False), ("continued", True)):
            results[f"{voice}, {name}"] = _known(figures(speak_groups(engine, texts, voice, continued)))
            print(voice, name, json.dumps(results[f"{voice}, {name}"]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
