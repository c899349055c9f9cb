"""Are bad clips found, and good ones left alone?

    python -m benchmarks.bad_generations --clips 30 --clean 170 --json bad.json
    python -m benchmarks.bad_generations --fit models/voxcpm/bundled/watch.npz

The bundled voice speaks held-out sentences, once as it is and once at each of three strengths of noise in
what its patches are made from: Gaussian noise on the condition of the flow matching, as a share of the
level of the condition itself. A clip is bad when the judges of `benchmarks/voice/judges.py` say so beside
the same sentence without noise: `WORSE_ERRORS` more word errors per word, or an opinion score lower by
`WORSE_OPINION`. It is found when the engine tells a flaw. Clips without noise are good ones; `--clean`
adds more, which no judge hears.

`--fit` writes the statistics of good speech that the engine goes by, from the last `FITTED` held-out
sentences without noise, which are used for nothing else. Ends with exit status 1 where a goal is missed.
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
from models.voxcpm.engine import VoxCPMEngine, load_engine
from models.voxcpm.speech_statistics import SpeechStatistics
from models.voxcpm.training.text import HELD_OUT_FILE, read_lines

STRENGTHS = (1.0, 2.0, 4.0)
LEAST_FOUND, MOST_TOUCHED = 0.9, 0.01
WORSE_ERRORS, WORSE_OPINION = 0.3, 1.0
JUDGED_RATE = 16_000
STREAMS, FITTED = 8, 100


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

    def noisy(lm_hidden: torch.Tensor, residual_hidden: torch.Tensor) -> torch.Tensor:
        mu = condition(lm_hidden, residual_hidden)
        return mu + strength * mu.square().mean().sqrt() * torch.randn(mu.shape, generator=generator)

    model.dit_condition = noisy
    try:
        yield
    finally:
        del model.dit_condition


def speak(engine: VoxCPMEngine, texts: Sequence[str], strength: float) -> list[Spoken]:
    """Every text, by the voices in turn; the same seeds at every strength."""
    encode, voices = engine.checkpoint.tokenizer.encode, ("default", *engine.info.voices)
    clips = [
        Spoken(text, voices[seed % len(voices)], strength, len(encode(text)))
        for seed, text in enumerate(texts)
    ]
    with noise_in_conditions(engine, strength):
        for first in range(0, len(clips), STREAMS):
            for seed in range(first, min(first + STREAMS, len(clips))):
                engine.add_request(SpeechRequest(str(seed), clips[seed].text, seed, clips[seed].voice))
            while engine.has_unfinished():
                for output in engine.step():
                    clip = clips[int(output.request_id)]
                    clip.latents.append(output.latents)
                    clip.samples.append(output.audio)
                    clip.finish_reason, clip.flaw = output.finish_reason, output.flaw
    return clips


def judge(clips: Sequence[Spoken], sample_rate: int) -> None:
    """Ask the judges about every clip."""
    from benchmarks.voice.judges import Judges
    from benchmarks.voice.measures import word_error_rate
    from models.voxcpm.audio_encoding import resample

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
    at_strength, verdicts = {}, []
    for strength, clips in noisy.items():
        bad = [is_bad(clip, beside) for clip, beside in zip(clips, clean, strict=True)]
        found = [bool(clip.flaw) for clip in clips]
        verdicts += zip(bad, found, strict=True)
        at_strength[strength] = {
            "clips": len(clips),
            "bad": sum(bad),
            "found": share([f for b, f in zip(bad, found, strict=True) if b]),
            "touched": share([f for b, f in zip(bad, found, strict=True) if not b]),
            "flaws": dict(Counter(clip.flaw for clip in clips)),
            "word_error_rate": float(np.mean([clip.errors for clip in clips])),
            "mos": float(np.mean([clip.opinion for clip in clips])),
        }
    good = [*clean, *more]
    return {
        "strengths": at_strength,
        "bad": sum(bad for bad, _ in verdicts),
        "found": share([found for bad, found in verdicts if bad]),
        "good": len(good),
        "touched": share([bool(clip.flaw) for clip in good]),
        "touched_with_noise": share([found for bad, found in verdicts if not bad]),
        "flaws_of_good": dict(Counter(clip.flaw for clip in good)),
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
    parser.add_argument("--clips", type=int, default=30, help="that are judged, at every strength")
    parser.add_argument("--clean", type=int, default=170, help="without noise, which nobody judges")
    parser.add_argument("--strengths", type=float, nargs="+", default=STRENGTHS)
    parser.add_argument("--fit", type=Path, metavar="FILE", help="write the statistics of good speech")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> int:
    """Measure, or fit."""
    arguments = parse_arguments()
    torch.set_num_threads(1)
    texts = read_lines(HELD_OUT_FILE)
    engine = load_engine(arguments.model, "cpu", max_num_seqs=STREAMS, threads=1)
    if arguments.fit:
        clips = speak(engine, texts[-FITTED:], 0.0)
        latents = [np.stack(clip.latents) for clip in clips]
        SpeechStatistics.fit(latents, [clip.num_tokens for clip in clips]).save(arguments.fit)
        return 0
    judged, others = texts[: arguments.clips], texts[arguments.clips : -FITTED][: arguments.clean]
    clean, more = speak(engine, judged, 0.0), speak(engine, others, 0.0)
    noisy = {strength: speak(engine, judged, strength) for strength in arguments.strengths}
    rate, statistics = engine.info.sample_rate, engine.checkpoint.statistics
    engine.close()
    judge([*clean, *(clip for clips in noisy.values() for clip in clips)], rate)
    found = figures(clean, noisy, more)
    print(json.dumps(found, indent=1))
    if arguments.json:
        clips = [*clean, *more, *(clip for clips in noisy.values() for clip in clips)]
        found["clips"] = [described(clip, statistics) for clip in clips]
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    missed = (found["found"] or 0.0) < LEAST_FOUND or found["touched"] > MOST_TOUCHED
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
