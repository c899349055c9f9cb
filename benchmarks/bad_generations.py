"""Are bad clips found, and good ones left alone?

    python -m benchmarks.bad_generations --clips 60 --clean 340 --json bad.json

The bundled voice speaks held-out sentences, once as it is and once at each of four strengths of noise in
what its patches are made from: Gaussian noise on the condition of the flow matching, as a share of the
level of the condition itself. A clip is bad when the judges of `benchmarks.voice.judging` say so beside
the same sentence without noise: `WORSE_ERRORS` more word errors per word, or an opinion score lower by
`WORSE_OPINION`. It is found when the engine tells a flaw: at its end, by which clips that are sent whole are
judged, or before, where a stream is cut. Clips without noise are good ones; `--clean` adds more, which no
judge hears, and says the sentences again with other seeds where there are too few.

`--strangers` has cloned voices speak, without noise and with some; nobody judges them.

The last held-out sentences are left out: `models/voxcpm/watch/fit.py` fits with them what the engine goes by.
Ends with exit status 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.speech import SpeechRequest
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines
from models.voxcpm.watch.fit import FITTED, STREAMS, speak, spoken_by_turns
from models.voxcpm.watch.statistics import SpeechStatistics

STRENGTHS = (1.0, 1.5, 2.0, 4.0)
STRANGERS_STRENGTH = 2.0
LEAST_FOUND, MOST_TOUCHED = 0.9, 0.01
WORSE_ERRORS, WORSE_OPINION = 0.3, 1.0
JUDGED_RATE = 16_000
SEEDS_APART, STRANGERS_SEED = 1000, 500
"""Of the sentences when they are said again."""


@dataclass
class Spoken:
    """One clip. `samples` are at the model's rate."""

    text: str
    voice: str
    strength: float
    num_tokens: int
    latents: list[np.ndarray] = field(default_factory=list)
    samples: list[np.ndarray] = field(default_factory=list)
    finish_reason: str | None = None
    flaw: str = ""
    """Told with the last patch."""
    cut_flaw: str = ""
    """Told before, and with which patch."""
    cut_at: int | None = None
    errors: float | None = None
    opinion: float | None = None
    heard: str = ""

    def surprise(self, statistics: SpeechStatistics | None) -> float | None:
        """See `SpeechStatistics.surprise`."""
        return statistics.surprise(np.stack(self.latents)) if statistics else None


@contextmanager
def noise_in_conditions(engine: VoxCPMEngine, strength: float) -> Iterator[None]:
    """Noise in what every patch is made from, `strength` times as strong as that itself."""
    model = engine.checkpoint.model
    condition, generator = model.dit_condition, torch.Generator().manual_seed(5)

    def noisy(*given: Any) -> torch.Tensor:
        mu = condition(*given)
        return mu + strength * mu.square().mean().sqrt() * torch.randn(mu.shape, generator=generator)

    model.dit_condition = noisy
    try:
        yield
    finally:
        del model.dit_condition


def spoken(engine: VoxCPMEngine, texts: Sequence[str], strength: float, first_seed: int = 0) -> list[Spoken]:
    """Every text, by the voices in turn; the same seeds at every strength."""
    return _clips(engine, spoken_by_turns(engine, texts, first_seed), strength)


def _clips(engine: VoxCPMEngine, requests: Sequence[SpeechRequest], strength: float) -> list[Spoken]:
    encode, clips = engine.checkpoint.tokenizer.encode, []
    with noise_in_conditions(engine, strength):
        for request, outputs in zip(requests, speak(engine, requests), strict=True):
            clip = Spoken(request.text, request.voice, strength, len(encode(request.text)))
            clip.latents = [output.latents for output in outputs]
            clip.samples = [output.audio for output in outputs]
            clip.finish_reason, clip.flaw = outputs[-1].finish_reason, outputs[-1].flaw
            for output in outputs[:-1]:
                if output.flaw:
                    clip.cut_flaw, clip.cut_at = output.flaw, output.index
            clips.append(clip)
    return clips


def spoken_as_strangers(engine: VoxCPMEngine, texts: Sequence[str], strength: float) -> list[Spoken]:
    """Every text but the first, with the voice of each of the strangers of
    `benchmarks/voice/speakers/strangers.py`, who says the first.
    """
    from benchmarks.voice.speakers.readers import TeacherReader
    from benchmarks.voice.speakers.strangers import SPEAKERS

    teacher, clips = TeacherReader(), []
    seconds = engine.checkpoint.generation.get("max_reference_seconds", 10.0)
    for speaker in SPEAKERS.values():
        recording = teacher.record(texts[0], speaker)
        samples = recording.samples[: round(seconds * recording.sample_rate)]
        reference = engine.encode_audio(samples, recording.sample_rate, "reference")
        requests = [
            SpeechRequest(str(seed), text, seed, reference_latents=reference)
            for seed, text in enumerate(texts[1:], STRANGERS_SEED)
        ]
        clips += _clips(engine, requests, strength)
    return clips


def spoken_clean(
    engine: VoxCPMEngine, others: Sequence[str], judged: Sequence[str], count: int
) -> list[Spoken]:
    """So many clips without noise: other sentences than those that are judged, then all with other seeds."""
    clips = spoken(engine, others[:count], 0.0)
    texts, turn = [*others, *judged], 0
    while len(clips) < count:
        turn += 1
        clips += spoken(engine, texts[: count - len(clips)], 0.0, turn * SEEDS_APART)
    return clips


def judge(clips: Sequence[Spoken], sample_rate: int) -> None:
    """Ask the judges about every clip."""
    from benchmarks.voice.judging.judges import Judges
    from benchmarks.voice.judging.measures import word_error_rate
    from models.voxcpm.vae.audio_encoding import resample

    judges = Judges(threads=1)
    for clip in clips:
        samples = resample(np.concatenate(clip.samples), sample_rate, JUDGED_RATE)
        clip.heard = judges.words(samples)
        clip.errors = word_error_rate([clip.text], [clip.heard])
        clip.opinion = judges.opinion_score(samples)


def is_bad(clip: Spoken, clean: Spoken) -> bool:
    """Whether the judges hear what the noise did."""
    return clip.errors - clean.errors > WORSE_ERRORS or clean.opinion - clip.opinion > WORSE_OPINION


def share(found: Sequence[bool]) -> float | None:
    """Of those that are true; None of nothing."""
    return sum(found) / len(found) if found else None


def figures(clean: list[Spoken], noisy: dict[float, list[Spoken]], more: list[Spoken]) -> dict[str, Any]:
    """How many of the bad clips were found, and how many of the good ones were touched."""
    at_strength, bad_ones, others = {}, [], []
    for strength, clips in noisy.items():
        bad = [clip for clip, beside in zip(clips, clean, strict=True) if is_bad(clip, beside)]
        rest = [clip for clip, beside in zip(clips, clean, strict=True) if not is_bad(clip, beside)]
        bad_ones, others = bad_ones + bad, others + rest
        cuts = [clip.cut_at for clip in bad if clip.cut_at is not None]
        at_strength[strength] = {
            "clips": len(clips),
            "bad": len(bad),
            **_shares("found", bad),
            **_shares("touched", rest),
            "median_patches_before_the_cut": float(np.median(cuts)) if cuts else None,
            "flaws": dict(Counter(clip.flaw for clip in clips)),
            "word_error_rate": float(np.mean([clip.errors for clip in clips])),
            "mos": float(np.mean([clip.opinion for clip in clips])),
        }
    good = [*clean, *more]
    return {
        "strengths": at_strength,
        "bad": len(bad_ones),
        **_shares("found", bad_ones),
        "good": len(good),
        **_shares("touched", good),
        **_shares("touched_with_noise", others),
        "flaws_of_good": dict(Counter(clip.flaw or clip.cut_flaw for clip in good)),
    }


def _shares(name: str, clips: Sequence[Spoken]) -> dict[str, float | None]:
    """Of clips with a flaw, when they are sent whole and when they are streamed."""
    return {
        name: share([bool(clip.flaw) for clip in clips]),
        f"{name}_in_streams": share([clip.cut_at is not None for clip in clips]),
    }


def described(clip: Spoken, statistics: SpeechStatistics | None) -> dict[str, Any]:
    """One clip for the JSON file."""
    plain = {key: value for key, value in asdict(clip).items() if key not in ("latents", "samples")}
    return plain | {"patches": len(clip.latents), "surprise": clip.surprise(statistics)}


def parse_arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--clips", type=int, default=60, help="that are judged, at every strength")
    parser.add_argument("--clean", type=int, default=340, help="without noise, which nobody judges")
    parser.add_argument(
        "--strangers", type=int, default=8, help="clips by each of seven cloned voices; 0: none"
    )
    parser.add_argument("--strengths", type=float, nargs="+", default=STRENGTHS)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> int:
    """Measure."""
    arguments = parse_arguments()
    torch.set_num_threads(1)
    texts = read_lines(HELD_OUT_FILE)
    engine = load_engine(arguments.model, "cpu", max_num_seqs=STREAMS, threads=1)
    judged, others = texts[: arguments.clips], texts[arguments.clips : -FITTED]
    clean, more = spoken(engine, judged, 0.0), spoken_clean(engine, others, judged, arguments.clean)
    noisy = {strength: spoken(engine, judged, strength) for strength in arguments.strengths}
    strangers = {}
    if arguments.strangers:
        said = [texts[3], *texts[10 : 10 + arguments.strangers]]
        for strength in (0.0, STRANGERS_STRENGTH):
            clips = spoken_as_strangers(engine, said, strength)
            strangers[strength] = {"clips": len(clips), **_shares("told", clips)}
    rate, statistics = engine.info.sample_rate, engine.checkpoint.statistics
    engine.close()
    judge([*clean, *(clip for clips in noisy.values() for clip in clips)], rate)
    found = figures(clean, noisy, more) | {"strangers": strangers}
    print(json.dumps(found, indent=1))
    if arguments.json:
        clips = [*clean, *more, *(clip for clips in noisy.values() for clip in clips)]
        found["clips"] = [described(clip, statistics) for clip in clips]
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    kinds = ("", "_in_streams")
    missed = any((found[f"found{kind}"] or 0.0) < LEAST_FOUND for kind in kinds)
    return 1 if missed or any(found[f"touched{kind}"] > MOST_TOUCHED for kind in kinds) else 0


if __name__ == "__main__":
    sys.exit(main())
