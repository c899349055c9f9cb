"""Judges a voice: can it be understood, does it stop, does it click, are the voices told apart.

Every figure stands beside that of flite's own audio of the same held-out sentences: word error rate
by pocketsphinx, duration, share of utterances that stop by themselves, largest sample-to-sample
jump, and median pitch. Examples:

    python benchmarks/voice.py --model bundled --sentences 60 --out voice.json
    python benchmarks/voice.py --wavs folder       # folder/VOICE/000.wav, 001.wav, ... in held-out order
    python benchmarks/voice.py --flite             # the four flite voices themselves

Needs `pip install pocketsphinx jiwer` and Debian's flite. Sentences are read aloud from
models/voxcpm/training/held_out.txt, which the training never saw.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import wave
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from models.voxcpm.training.synthesis import (
    SAMPLE_RATE,
    VOICES,
    Flite,
    flite_folder,
    speak,
    trim,
    voice_gains,
)
from models.voxcpm.training.text import HELD_OUT_FILE, read_lines


@dataclass(frozen=True)
class Utterance:
    """One sentence as a speaker said it: samples float32 in [-1, 1] at 16 kHz."""

    text: str
    samples: np.ndarray
    stopped: bool = True


@dataclass(frozen=True)
class Figures:
    """What `judge` measures of a set of utterances, beside the reference's figures."""

    utterances: int
    word_error_rate: float
    stop_rate: float
    total_seconds: float
    worst_duration_ratio: float
    share_within_15_percent: float
    largest_jump: float
    median_pitch_hz: float


def plain_words(text: str) -> str:
    """Text as the recogniser prints it: lower-case words alone."""
    return " ".join(re.sub(r"[^a-z' ]", " ", text.lower().replace("-", " ")).split())


class Recogniser:
    """pocketsphinx with the English model of its wheel."""

    def __init__(self) -> None:
        from pocketsphinx import Decoder

        self._decoder = Decoder(samprate=SAMPLE_RATE, loglevel="FATAL")

    def transcribe(self, samples: np.ndarray) -> str:
        """Words heard in float32 samples at 16 kHz; empty when nothing was."""
        pcm = np.clip(samples * 32767, -32768, 32767).astype("<i2").tobytes()
        self._decoder.reinit_feat()
        self._decoder.start_utt()
        self._decoder.process_raw(pcm, False, True)
        self._decoder.end_utt()
        hypothesis = self._decoder.hyp()
        return hypothesis.hypstr if hypothesis else ""


def word_error_rate(texts: Iterable[str], heard: Iterable[str]) -> float:
    """Errors per word over all sentences together."""
    import jiwer

    pairs = [(plain_words(t), plain_words(h)) for t, h in zip(texts, heard, strict=True)]
    return float(jiwer.wer([t for t, _ in pairs], [h for _, h in pairs]))


def median_pitch(samples: np.ndarray, lowest_hz: float = 60.0, highest_hz: float = 350.0) -> float:
    """Median fundamental frequency of the voiced frames by normalised autocorrelation, in Hz.

    Returns nan when no frame of 50 ms is voiced (autocorrelation peak above 0.6 and audible).
    """
    width, hop = int(0.05 * SAMPLE_RATE), int(0.02 * SAMPLE_RATE)
    if len(samples) < width:
        return float("nan")
    frames = np.lib.stride_tricks.sliding_window_view(samples, width)[::hop].astype(np.float64)
    frames = frames - frames.mean(axis=1, keepdims=True)
    loud = np.sqrt((frames**2).mean(axis=1))
    frames = frames[loud > 0.3 * np.percentile(loud, 90)]
    spectrum = np.fft.rfft(frames, 2 * width)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:, :width]
    correlation /= (correlation[:, :1] + 1e-12) * (1 - np.arange(width) / width)
    first, last = int(SAMPLE_RATE / highest_hz), int(SAMPLE_RATE / lowest_hz)
    window = correlation[:, first:last]
    # The first peak nearly as high as the highest, so that a period is not taken for two.
    peaks = window > 0.9 * window.max(axis=1, keepdims=True)
    lags = first + peaks.argmax(axis=1)
    lags = np.array(
        [lag + int(np.argmax(row[lag : lag + 8])) for lag, row in zip(lags, correlation, strict=True)]
    )
    voiced = window.max(axis=1) > 0.6
    return float(np.median(SAMPLE_RATE / lags[voiced])) if voiced.any() else float("nan")


def largest_jump(samples: np.ndarray) -> float:
    """Largest difference between neighbouring samples: a click shows as a jump no voice makes."""
    return float(np.abs(np.diff(samples)).max()) if len(samples) > 1 else 0.0


def spoken_seconds(samples: np.ndarray) -> float:
    """Length without leading and trailing silence."""
    return len(trim(np.rint(samples * 32767).astype(np.int16))) / SAMPLE_RATE


def judge(utterances: list[Utterance], reference: list[Utterance], recogniser: Recogniser) -> Figures:
    """Measure utterances against the reference's utterances of the same sentences."""
    pairs = zip(utterances, reference, strict=True)
    ratios = np.array([spoken_seconds(u.samples) / spoken_seconds(r.samples) for u, r in pairs])
    heard = [recogniser.transcribe(u.samples) for u in utterances]
    return Figures(
        utterances=len(utterances),
        word_error_rate=round(word_error_rate([u.text for u in utterances], heard), 4),
        stop_rate=float(np.mean([u.stopped for u in utterances])),
        total_seconds=round(sum(len(u.samples) for u in utterances) / SAMPLE_RATE, 2),
        worst_duration_ratio=round(float(ratios[np.abs(np.log(np.maximum(ratios, 1e-3))).argmax()]), 3),
        share_within_15_percent=round(float(np.mean(np.abs(ratios - 1) <= 0.15)), 4),
        largest_jump=round(max(largest_jump(u.samples) for u in utterances), 4),
        median_pitch_hz=round(float(np.nanmedian([median_pitch(u.samples) for u in utterances])), 1),
    )


def flite_utterances(voice: str, texts: list[str], flite: Flite, gains: dict[str, float]) -> list[Utterance]:
    """flite's own audio of the sentences, trimmed and levelled as the training saw it."""
    return [Utterance(text, speak(flite, text, voice, gains).astype(np.float32) / 32768) for text in texts]


def wav_utterances(folder: Path, texts: list[str]) -> list[Utterance]:
    """`folder/000.wav`, ... as utterances of `texts`; mono 16-bit at 16 kHz."""
    found = []
    for index, text in enumerate(texts):
        with wave.open(str(folder / f"{index:03d}.wav")) as file:
            if (file.getframerate(), file.getnchannels(), file.getsampwidth()) != (SAMPLE_RATE, 1, 2):
                raise ValueError(f"{folder}/{index:03d}.wav is not 16-bit mono at {SAMPLE_RATE} Hz")
            pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        found.append(Utterance(text, pcm.astype(np.float32) / 32768))
    return found


def compare(
    voices: Iterable[str], texts: list[str], speaker: Callable[[str, list[str]], list[Utterance]] | None
) -> dict:
    """Figures per voice: flite's, and the speaker's with the ratio of the word error rates."""
    flite = Flite(flite_folder(Path(".carry")))
    gains, recogniser, report = voice_gains(flite), Recogniser(), {}
    for voice in voices:
        reference = flite_utterances(voice, texts, flite, gains)
        own = judge(reference, reference, recogniser)
        report[voice] = {"flite": asdict(own)}
        if speaker:
            figures = judge(speaker(voice, texts), reference, recogniser)
            report[voice]["model"] = asdict(figures)
            report[voice]["word_error_ratio"] = round(
                figures.word_error_rate / max(own.word_error_rate, 1e-9), 3
            )
        print(voice, json.dumps(report[voice]), flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--flite", action="store_true", help="judge flite's voices alone")
    source.add_argument("--wavs", type=Path, help="folder with one folder of WAV files per voice")
    parser.add_argument("--voices", nargs="+", default=list(VOICES))
    parser.add_argument("--sentences", type=int, default=60)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    texts = read_lines(HELD_OUT_FILE)[: args.sentences]
    speaker = (lambda voice, lines: wav_utterances(args.wavs / voice, lines)) if args.wavs else None
    report = compare(args.voices, texts, speaker)
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
