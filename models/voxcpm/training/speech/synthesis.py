"""Speech synthesised by the teachers, in many processes at once.

Each process appends to its own pair of files: `N.i16` (24 kHz mono samples) and `N.tsv`, one line
`first_sample TAB samples TAB speaker TAB kind TAB text` per utterance, written after the samples it names,
so that a reader may follow while the process still writes. About 20 times faster than real time per core.
Example:

    python -m models.voxcpm.training.speech.synthesis --carry .carry --out data --hours 1 --processes 2
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from models.voxcpm.training.recipe import TEACHER_WEIGHTS
from models.voxcpm.training.speech.teachers import SPEECH_RATE, Speaker, Teachers, random_speaker
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines
from models.voxcpm.training.texts.templates import template_sentence

SHORTEST_SECONDS, LONGEST_SECONDS = 0.5, 22.0
MOST_CHARACTERS = 330
VALIDATION_FILE, VALIDATION_SECONDS = "validation.npy", 3
UTTERANCES_OF_A_STRANGER = 12
# Letters that are spelled: there capitals make a difference.
SHOUTED = re.compile(r"\b[A-Z]{2}|\b[A-HJ-Z]\b|[A-Z]\.[A-Z]")


def write_validation_speech(
    work: Path,
    carry: Path | None,
    sentences: int,
    speakers: tuple[Speaker, ...],
) -> None:
    """Write VALIDATION_FILE: held-out sentences by every speaker, three seconds of each, int16 [N, T]."""
    teachers, rng, most = Teachers(carry), random.Random(0), VALIDATION_SECONDS * SPEECH_RATE
    texts = read_lines(HELD_OUT_FILE)[:sentences]
    clips = [teachers.read(text, speaker, rng)[:most] for speaker in speakers for text in texts]
    partial = work / f"partial-{VALIDATION_FILE}"
    np.save(partial, [np.pad(clip, (0, most - len(clip))) for clip in clips])
    partial.replace(work / VALIDATION_FILE)


def random_words(rng: random.Random, sentences: list[str], words: list[str]) -> str:
    """A run of dictionary words, half the time mixed with a piece of a sentence."""
    chosen = [rng.choice(words) for _ in range(rng.randint(1, 10))]
    if rng.random() < 0.5:
        piece = rng.choice(sentences).rstrip(".!?").split()
        start = rng.randrange(len(piece))
        chosen = piece[start : start + 10] + chosen[:4]
    stripped = [w.strip(",.;:!?'\"()") for w in chosen]
    text = " ".join(w + ("," if rng.random() < 0.1 else "") for w in stripped if w).rstrip(",") or "Word"
    return text[:1].upper() + text[1:] + rng.choice("....??!")


def utterance_texts(
    rng: random.Random, sentences: list[str], words: list[str], share: slice
) -> Iterator[tuple[str, str]]:
    """Endless pairs (kind, text): every sentence of `share` in turn, other kinds in between."""
    own = itertools.cycle(sentences[share])
    while True:
        draw = rng.random()
        if draw < 0.56:
            yield "sentence", next(own)
        elif draw < 0.74:
            yield "sentence", " ".join(next(own) for _ in range(rng.choice((2, 2, 3))))
        elif draw < 0.82:
            yield "words", random_words(rng, sentences, words)
        else:
            yield "template", template_sentence(rng, words)


def as_written(rng: random.Random, text: str) -> str:
    """The transcript of some speech: mostly `text`, at times in capitals or without a full stop."""
    if rng.random() < 0.08:
        text = text.rstrip(".")
    if rng.random() < 0.03 and not SHOUTED.search(text):
        text = text.upper()
    return text


def utterance_speakers(rng: random.Random, weights: dict[str, float]) -> Iterator[Speaker]:
    """Endless speakers by their weights; a stranger stays for a while, so that there is more of one voice.

    weights: a teacher's name, or "stranger of" a teacher, to its share of utterances.
    """
    strangers: dict[str, tuple[Speaker, int]] = {}
    while True:
        name = rng.choices(list(weights), list(weights.values()))[0]
        if not name.startswith("stranger of "):
            yield Speaker(name)
            continue
        speaker, left = strangers.get(name, (None, 0))
        if not left:
            speaker, left = random_speaker(rng, name.removeprefix("stranger of ")), UTTERANCES_OF_A_STRANGER
        strangers[name] = speaker, left - 1
        yield speaker


def _work(
    index: int,
    processes: int,
    carry: Path,
    out: Path,
    seconds: float,
    deadline: float,
    weights: dict[str, float],
) -> None:
    os.nice(10)
    rng, teachers = random.Random(1000 + index), Teachers(carry)
    sentences, words = read_lines(carry / "sentences.txt.xz"), read_lines(carry / "words.txt.xz")
    texts = utterance_texts(rng, sentences, words, slice(index, None, processes))
    speakers = utterance_speakers(rng, weights)
    written = 0
    with open(out / f"{index}.i16", "wb") as audio, open(out / f"{index}.tsv", "w") as table:
        while written < seconds * SPEECH_RATE and time.time() < deadline:
            kind, text = next(texts)
            if len(text) > MOST_CHARACTERS:
                continue
            speaker = next(speakers)
            samples = teachers.read(text, speaker, rng)
            if not SHORTEST_SECONDS <= len(samples) / SPEECH_RATE <= LONGEST_SECONDS:
                continue
            audio.write(samples.tobytes())
            audio.flush()
            table.write(f"{written}\t{len(samples)}\t{speaker.name}\t{kind}\t{as_written(rng, text)}\n")
            table.flush()
            written += len(samples)


def start(
    carry: Path, out: Path, hours: float, processes: int, deadline: float, weights: dict[str, float]
) -> list:
    """Start the processes and return them; they end after `hours` in all or at `deadline` (time.time())."""
    out.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    share = hours * 3600 / processes
    started = []
    for index in range(processes):
        args = (index, processes, carry, out, share, deadline, weights)
        started.append(context.Process(target=_work, args=args, daemon=True))
        started[-1].start()
    return started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--carry", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most-seconds", type=float, default=3600.0)
    args = parser.parse_args()
    began = time.time()
    deadline = began + args.most_seconds
    for process in start(args.carry, args.out, args.hours, args.processes, deadline, TEACHER_WEIGHTS):
        process.join()
    made = sum(path.stat().st_size for path in args.out.glob("*.i16")) / 2 / SPEECH_RATE
    print(f"{made / 3600:.2f} hours in {time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
