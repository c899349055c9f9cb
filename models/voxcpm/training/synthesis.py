"""Speech synthesised with flite through ctypes, in many processes at once.

Each process appends to its own pair of files: `N.i16` (16 kHz mono samples) and `N.tsv`, one line
`first_sample TAB samples TAB voice TAB text` per utterance, written after the samples it names, so
that a reader may follow while the process still writes. About 100 times faster than real time per
core. Example:

    python -m models.voxcpm.training.synthesis --carry .carry --out data --hours 1 --processes 2
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .recipe import VOICE_WEIGHTS
from .templates import template_sentence
from .text import HELD_OUT_FILE, read_lines

SAMPLE_RATE = 16000
VOICES = ("slt", "rms", "awb", "kal16")
LIBRARIES = ("libasound.so.2", "libflite.so.1", "libflite_usenglish.so.1", "libflite_cmulex.so.1")
LEAD_SAMPLES, TAIL_SAMPLES = 1600, 3200
TARGET_RMS = 2300.0  # about -23 dB below full scale, over the voiced part
SHORTEST_SECONDS, LONGEST_SECONDS = 0.5, 15.0
VALIDATION_FILE, VALIDATION_SAMPLES = "validation.npy", 2 * SAMPLE_RATE
LEVEL_SENTENCES = (
    "The quick brown fox jumps over the lazy dog.",
    "We went to the market early and came home with apples, bread and a bag of flour.",
    "How many people do you think will come to the meeting on Monday?",
    "She had your dark suit in greasy wash water all year.",
)


class _Wave(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_char_p),
        ("sample_rate", ctypes.c_int),
        ("num_samples", ctypes.c_int),
        ("num_channels", ctypes.c_int),
        ("samples", ctypes.POINTER(ctypes.c_short)),
    ]


class Flite:
    """The flite libraries of Debian's libflite1: those in `folder`, else those of the system."""

    def __init__(self, folder: Path | None = None, voices: tuple[str, ...] = VOICES) -> None:
        self._folder = folder if folder and (folder / LIBRARIES[0]).exists() else None
        # Loaded in the order of their needs: the loader then finds each by its name, wherever it lies.
        loaded = {name: self._load(name) for name in LIBRARIES}
        self._library = loaded["libflite.so.1"]
        self._library.flite_init()
        self._library.flite_text_to_wave.restype = ctypes.POINTER(_Wave)
        self._library.flite_text_to_wave.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        self._library.delete_wave.argtypes = [ctypes.POINTER(_Wave)]
        self._voices = {name: self._register(name) for name in voices}

    def _load(self, name: str) -> ctypes.CDLL:
        try:
            return ctypes.CDLL(str(self._folder / name) if self._folder else name, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise OSError(f"{error}; flite is missing: apt-get install flite") from error

    def _register(self, name: str) -> int:
        register = getattr(self._load(f"libflite_cmu_us_{name}.so.1"), f"register_cmu_us_{name}")
        register.restype, register.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        return register(None)

    def say(self, text: str, voice: str) -> np.ndarray:
        """Speak ASCII `text`: int16 samples at 16 kHz, as flite gives them."""
        wave = self._library.flite_text_to_wave(text.encode("ascii"), self._voices[voice])
        try:
            if wave.contents.sample_rate != SAMPLE_RATE:
                raise ValueError(f"voice {voice} speaks at {wave.contents.sample_rate} Hz")
            return np.ctypeslib.as_array(wave.contents.samples, (wave.contents.num_samples,)).copy()
        finally:
            self._library.delete_wave(wave)


def trim(samples: np.ndarray, threshold: int = 200) -> np.ndarray:
    """Cut int16 silence down to 100 ms before and 200 ms after the speech; too short ends are padded."""
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > threshold)
    if not len(loud):
        return samples[:0]
    padded = np.pad(samples, (LEAD_SAMPLES, TAIL_SAMPLES))
    return padded[loud[0] : loud[-1] + 1 + LEAD_SAMPLES + TAIL_SAMPLES]


def voice_gains(flite: Flite, voices: tuple[str, ...] = VOICES) -> dict[str, float]:
    """One gain per voice that brings its speech to TARGET_RMS."""
    gains = {}
    for voice in voices:
        speech = np.concatenate([trim(flite.say(text, voice)) for text in LEVEL_SENTENCES]).astype(np.float64)
        speech = speech[np.abs(speech) > 50]
        gains[voice] = TARGET_RMS / float(np.sqrt(np.mean(speech**2)))
    return gains


def speak(flite: Flite, text: str, voice: str, gains: dict[str, float]) -> np.ndarray:
    """Trimmed, level-normalised int16 speech."""
    samples = trim(flite.say(text, voice)) * gains[voice]
    return np.clip(np.rint(samples), -32000, 32000).astype("<i2")


def write_validation_speech(work: Path, carry: Path | None, sentences: int) -> None:
    """Write VALIDATION_FILE: held-out sentences in every voice, two seconds of each, int16 [N, T]."""
    flite = Flite(carry)
    gains = voice_gains(flite)
    pairs = [(text, voice) for text in read_lines(HELD_OUT_FILE)[:sentences] for voice in VOICES]
    clips = [speak(flite, *pair, gains)[:VALIDATION_SAMPLES] for pair in pairs]
    np.save(work / VALIDATION_FILE, [np.pad(clip, (0, VALIDATION_SAMPLES - len(clip))) for clip in clips])


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
        if draw < 0.68:
            yield "sentence", next(own)
        elif draw < 0.76:
            yield "sentence", f"{next(own)} {next(own)}"
        elif draw < 0.90:
            yield "words", random_words(rng, sentences, words)
        else:
            yield "template", template_sentence(rng, words)


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
    rng = random.Random(1000 + index)
    flite = Flite(carry)
    gains = voice_gains(flite)
    sentences, words = read_lines(carry / "sentences.txt.xz"), read_lines(carry / "words.txt.xz")
    texts = utterance_texts(rng, sentences, words, slice(index, None, processes))
    written = 0
    with open(out / f"{index}.i16", "wb") as audio, open(out / f"{index}.tsv", "w") as table:
        while written < seconds * SAMPLE_RATE and time.time() < deadline:
            kind, text = next(texts)
            if len(text) > 230:
                continue
            if rng.random() < 0.08:
                text = text.rstrip(".")
            voice = rng.choices(list(weights), list(weights.values()))[0]
            samples = speak(flite, text, voice, gains)
            if not SHORTEST_SECONDS <= len(samples) / SAMPLE_RATE <= LONGEST_SECONDS:
                continue
            audio.write(samples.tobytes())
            audio.flush()
            table.write(f"{written}\t{len(samples)}\t{voice}\t{kind}\t{text}\n")
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
    for process in start(args.carry, args.out, args.hours, args.processes, deadline, VOICE_WEIGHTS):
        process.join()
    made = sum(path.stat().st_size for path in args.out.glob("*.i16")) / 2 / SAMPLE_RATE
    print(f"{made / 3600:.2f} hours in {time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
