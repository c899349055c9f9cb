"""Fits the statistics of a checkpoint's good speech, by which its bad speech is told (`watch.py`).

    python -m models.voxcpm.watch.fit openbmb/VoxCPM1.5            # watch.npz beside the weights
    python -m models.voxcpm.watch.fit DIR --texts chinese.txt --out watch.npz

The checkpoint speaks a text after the other, by its voices in turn. Without `--texts` those are the last of
the English sentences that the bundled voice never learnt. Texts should be of the languages and lengths that
the service is asked for, a sentence a line, as the model's tokenizer takes them. What does not end by itself
is left out. A fifth of the clips is not fitted but tried: the command says how many of them it would touch.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.errors import EngineError
from models.speech import DEFAULT_VOICE, SpeechOutput, SpeechRequest
from models.voxcpm.checkpoint import resolve_model
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines
from models.voxcpm.watch.statistics import FILE_NAME, SpeechStatistics
from models.voxcpm.watch.watch import SpeechWatch

FITTED = 100
"""Sentences, where none are given."""
LEAST_CLIPS = 20
STREAMS = 8
_TRIED = 5
"""One of so many clips is tried."""


def speak(engine: VoxCPMEngine, requests: Sequence[SpeechRequest]) -> list[list[SpeechOutput]]:
    """All outputs of each request, `STREAMS` requests at a time. Raises EngineError for one that fails."""
    found: dict[str, list[SpeechOutput]] = {request.request_id: [] for request in requests}
    for first in range(0, len(requests), STREAMS):
        for request in requests[first : first + STREAMS]:
            engine.add_request(request)
        while engine.has_unfinished():
            for output in engine.step():
                if output.finish_reason == "error":
                    raise EngineError(output.error or "the engine gave no reason")
                found[output.request_id].append(output)
    return list(found.values())


def spoken_by_turns(engine: VoxCPMEngine, texts: Sequence[str], first_seed: int = 0) -> list[SpeechRequest]:
    """A request for each text, by the voices in turn, the default one twice as often."""
    voices = (DEFAULT_VOICE, *engine.info.voices)
    seeds = range(first_seed, first_seed + len(texts))
    return [
        SpeechRequest(str(seed), text, seed, voices[seed % len(voices)])
        for seed, text in zip(seeds, texts, strict=True)
    ]


def fit(engine: VoxCPMEngine, texts: Sequence[str]) -> tuple[SpeechStatistics, int, int]:
    """Statistics, how many clips they were tried with, and how many of those they find bad.

    Raises ValueError where too few clips end by themselves.
    """
    clips: list[np.ndarray] = []
    tokens: list[int] = []
    for text, outputs in zip(texts, speak(engine, spoken_by_turns(engine, texts)), strict=True):
        if outputs[-1].finish_reason == "stop":
            clips.append(np.stack([output.latents for output in outputs]))
            tokens.append(len(engine.checkpoint.tokenizer.encode(text)))
    if len(clips) < LEAST_CLIPS:
        raise ValueError(f"{len(clips)} of {len(texts)} clips end by themselves, {LEAST_CLIPS} are needed")
    fitted = [number for number in range(len(clips)) if number % _TRIED]
    statistics = SpeechStatistics.fit([clips[n] for n in fitted], [tokens[n] for n in fitted])
    tried = [number for number in range(len(clips)) if number % _TRIED == 0]
    touched = sum(_is_touched(statistics, clips[n], tokens[n], engine.info.patch_seconds) for n in tried)
    return statistics, len(tried), touched


def _is_touched(statistics: SpeechStatistics, clip: np.ndarray, tokens: int, patch_seconds: float) -> bool:
    watch = SpeechWatch(statistics, tokens, patch_seconds)
    early = [watch.see(patch, peak=0.5) for patch in clip]  # whose sound is not judged here
    return any(early) or bool(watch.flaw("stop"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 where the checkpoint does not speak well enough."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="bundled, a directory, or a repository of the hub")
    parser.add_argument("--texts", type=Path, metavar="FILE", help="a sentence a line")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"default: {FILE_NAME} beside the weights")
    parser.add_argument("--device", default="auto")
    given = parser.parse_args(arguments)
    texts = read_lines(given.texts) if given.texts else read_lines(HELD_OUT_FILE)[-FITTED:]
    engine = load_engine(given.model, given.device, max_num_seqs=STREAMS)
    try:
        statistics, tried, touched = fit(engine, texts)
    except (ValueError, EngineError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        engine.close()
    path = given.out or resolve_model(given.model) / FILE_NAME
    statistics.save(path)
    print(f"{path}: of {tried} other clips it would touch {touched}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
