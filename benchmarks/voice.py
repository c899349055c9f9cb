"""Judges a voice: can it be understood, does it stop, does it click, are the voices told apart.

    python -m benchmarks.voice --model bundled --json voice.json
    python -m benchmarks.voice --model DIR --voice slt --sentences 20 --keep-wavs wavs

Sentences of `models/voxcpm/training/held_out.txt`, which no training saw, are spoken through the public
Python API, several in flight at once. Every figure stands beside that of flite's own audio of the same
sentences in the same voice: word error rate by pocketsphinx, duration, largest sample-to-sample jump,
median pitch. Without `--sentences`, the default voice speaks 200 sentences to see whether each stops by
itself, of which the first 60 are recognised; every other voice speaks 60. Needs Debian's flite and
`pip install pocketsphinx jiwer`. Ends with exit status 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from benchmarks.voice_measures import (
    largest_jump,
    median_pitch,
    spoken_seconds,
    transcribe_in_processes,
    word_error_rate,
)
from models.voxcpm import VoxCPM
from models.voxcpm.audio_encoding import read_audio, resample
from models.voxcpm.checkpoint import resolve_model
from models.voxcpm.training.recipe import DEFAULT_VOICE
from models.voxcpm.training.synthesis import SAMPLE_RATE, Flite, speak, voice_gains
from models.voxcpm.training.text import HELD_OUT_FILE, read_lines

RECOGNISED, STOPPING = 60, 200
ALONE = 3  # clips spoken one after the other, for the real-time factor of one stream
DURATION_TOLERANCE = 0.15


@dataclass(frozen=True)
class Clip:
    """One sentence as somebody said it: float32 samples at 16 kHz."""

    text: str
    samples: np.ndarray
    seed: int = 0
    finish_reason: str | None = "stop"

    @property
    def seconds(self) -> float:
        return len(self.samples) / SAMPLE_RATE


class FliteReader:
    """flite's own audio of sentences, trimmed and levelled as the training saw it."""

    def __init__(self) -> None:
        self._flite = Flite()
        self._gains = voice_gains(self._flite)

    def counterpart(self, voice: str) -> str:
        """The flite voice that `voice` is measured against."""
        return voice if voice in self._gains else DEFAULT_VOICE

    def read(self, text: str, voice: str) -> Clip:
        return Clip(text, speak(self._flite, text, voice, self._gains).astype(np.float32) / 32768)


class ModelReader:
    """A loaded model that reads sentences aloud with the options of the command line."""

    def __init__(self, model: VoxCPM, streams: int, options: dict[str, Any]) -> None:
        self._model, self._streams, self._options = model, streams, options

    @property
    def voices(self) -> tuple[str, ...]:
        return self._model.info.voices

    def read(self, text: str, voice: str, seed: int = 0) -> Clip:
        stream = self._model.generate(text, voice=voice, seed=seed, **self._options)
        samples = np.concatenate([np.zeros(0, np.float32), *stream])
        return Clip(text, resample(samples, self._model.sample_rate, SAMPLE_RATE), seed, stream.finish_reason)

    def read_all(self, texts: list[str], voice: str, seeds: int) -> tuple[list[Clip], float]:
        """Every text with every seed, `streams` of them in flight: (clips, seconds it took)."""
        jobs = [(text, voice, seed) for seed in range(seeds) for text in texts]
        began = time.perf_counter()
        with ThreadPoolExecutor(self._streams) as pool:
            clips = list(pool.map(lambda job: self.read(*job), jobs))
        return clips, time.perf_counter() - began

    def alone(self, texts: list[str], voice: str) -> dict[str, float]:
        """One stream at a time: real-time factor, and milliseconds to the first audio (median)."""
        first, spent, seconds = [], 0.0, 0.0
        for text in texts:
            began = time.perf_counter()
            stream = iter(self._model.generate(text, voice=voice, seed=0, **self._options))
            samples = len(next(stream))
            first.append(time.perf_counter() - began)
            samples += sum(len(chunk) for chunk in stream)
            spent += time.perf_counter() - began
            seconds += samples / self._model.sample_rate
        return {"rtf_alone": spent / seconds, "first_audio_ms": 1e3 * float(np.median(first))}


def duration_ratios(clips: list[Clip], wanted: list[Clip]) -> list[float]:
    """Length of each clip over that of flite's, silence before and after left aside."""
    pairs = zip(clips, wanted, strict=True)
    return [spoken_seconds(clip.samples) / spoken_seconds(other.samples) for clip, other in pairs]


def pitch_of(clips: list[Clip]) -> float | None:
    """Median over clips of their median pitch in Hz; None where nothing is voiced."""
    pitches = [pitch for clip in clips if np.isfinite(pitch := median_pitch(clip.samples))]
    return float(np.median(pitches)) if pitches else None


def reference_pitch(directory: Path, voice: str) -> float | None:
    """Median pitch in Hz of the reference clip of a named voice; None for the voice of no reference."""
    file = directory / "voices" / "voices.json"
    entry = json.loads(file.read_text()).get(voice) if file.is_file() else None
    if not entry or not entry.get("audio"):
        return None
    samples, sample_rate = read_audio(file.with_name(entry["audio"]))
    return pitch_of([Clip("", resample(samples, sample_rate, SAMPLE_RATE))])


def judge(
    clips: list[Clip], wanted: list[Clip], recognised: set[str], recognise: Callable[[list[Clip]], list[str]]
) -> dict[str, Any]:
    """Figures of `clips` beside those of flite's clips; words are counted in texts of `recognised`."""
    ours = [clip for clip in clips if clip.text in recognised]
    theirs = list({clip.text: clip for clip in wanted if clip.text in recognised}.values())
    heard = recognise(ours)
    rate = word_error_rate([clip.text for clip in ours], heard)
    flite_rate = word_error_rate([clip.text for clip in theirs], recognise(theirs))
    reasons = Counter(str(clip.finish_reason) for clip in clips)
    ratios = duration_ratios(clips, wanted)
    words = dict(zip(map(id, ours), heard, strict=True))
    return {
        "clips": len(clips),
        "recognised": len(ours),
        "word_error_rate": rate,
        "flite_word_error_rate": flite_rate,
        "word_error_ratio": rate / max(flite_rate, 1e-9),
        "finish_reasons": dict(reasons),
        "stop_rate": reasons["stop"] / len(clips),
        "durations_beyond_15_percent": sum(abs(ratio - 1) > DURATION_TOLERANCE for ratio in ratios),
        "worst_duration_ratio": max(ratios, key=lambda ratio: abs(ratio - 1)),
        "median_duration_ratio": float(np.median(ratios)),
        "largest_jump": max(largest_jump(clip.samples) for clip in clips),
        "flite_largest_jump": max(largest_jump(clip.samples) for clip in wanted),
        "pitch_hz": pitch_of(clips),
        "flite_pitch_hz": pitch_of(wanted),
        "sentences": [
            {"text": clip.text, "seed": clip.seed, "duration_ratio": round(ratio, 3)}
            | {"finish_reason": clip.finish_reason, "heard": words.get(id(clip))}
            for clip, ratio in zip(clips, ratios, strict=True)
        ],
    }


def goals(voice: str, figures: dict[str, Any]) -> dict[str, bool]:
    """The rules a bundled voice is held to, and whether this one keeps them."""
    default = voice == "default"
    met = {
        f"word error rate <= {1.25 if default else 1.5} x flite's": figures["word_error_ratio"]
        <= (1.25 if default else 1.5),
        "every clip stops by itself": figures["stop_rate"] == 1.0,
        "every duration within 15 % of flite's": figures["durations_beyond_15_percent"] == 0,
        "no jump larger than flite's": figures["largest_jump"] <= figures["flite_largest_jump"],
    }
    reference = figures["reference_pitch_hz"] or figures["flite_pitch_hz"]
    if reference:
        own = figures["pitch_hz"] or 0.0
        met["pitch within 10 % of the reference's"] = abs(own / reference - 1) <= 0.1
    return met


def table(report: dict[str, dict[str, Any]]) -> str:
    """One line per voice; figures of flite in brackets."""
    heads = ("voice", "clips", "WER (flite)", "ratio", "stops", ">15 %", "worst", "jump (flite)")
    heads += ("pitch (flite, clip)", "RTF alone, batched", "first ms")
    rows = [heads]
    for voice, f in report.items():
        pitches = [f"{p:.0f}" if p else "-" for p in (f["flite_pitch_hz"], f["reference_pitch_hz"])]
        rows.append(
            (
                voice,
                str(f["clips"]),
                f"{f['word_error_rate']:.3f} ({f['flite_word_error_rate']:.3f})",
                f"{f['word_error_ratio']:.2f}",
                f"{f['stop_rate']:.1%}",
                str(f["durations_beyond_15_percent"]),
                f"{f['worst_duration_ratio']:.2f}",
                f"{f['largest_jump']:.3f} ({f['flite_largest_jump']:.3f})",
                f"{f['pitch_hz'] or 0:.0f} ({', '.join(pitches)})",
                f"{f['rtf_alone']:.3f}, {f['rtf_batched']:.3f}",
                f"{f['first_audio_ms']:.0f}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def keep_wavs(folder: Path, clips: list[Clip]) -> None:
    """`folder/000.wav`, ... in the order of the clips."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, clip in enumerate(clips):
        soundfile.write(folder / f"{index:03d}.wav", clip.samples, SAMPLE_RATE, subtype="PCM_16")


def judge_voice(
    reader: ModelReader, flite: FliteReader, voice: str, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Let one voice speak its sentences, and measure it."""
    count = arguments.sentences or (STOPPING if voice == "default" else RECOGNISED)
    texts = read_lines(HELD_OUT_FILE)[:count]
    alone = reader.alone(texts[:ALONE], voice)
    clips, seconds = reader.read_all(texts, voice, arguments.seeds)
    other = flite.counterpart(voice)
    wanted = [flite.read(text, other) for text in texts] * arguments.seeds
    if arguments.keep_wavs:
        keep_wavs(arguments.keep_wavs / voice, clips)
        keep_wavs(arguments.keep_wavs / f"{voice}-flite-{other}", wanted[: len(texts)])

    def recognise(some: list[Clip]) -> list[str]:
        return transcribe_in_processes([clip.samples for clip in some], arguments.processes)

    figures = judge(clips, wanted, set(texts[: arguments.sentences or RECOGNISED]), recognise)
    spoken = sum(clip.seconds for clip in clips)
    figures |= {"flite_voice": other, "audio_seconds": spoken, "rtf_batched": seconds / spoken, **alone}
    figures["reference_pitch_hz"] = reference_pitch(resolve_model(arguments.model), voice)
    return {**figures, "goals": goals(voice, figures)}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="bundled", help="bundled, a checkpoint directory or a hub id")
    parser.add_argument("--voice", help="judge this voice alone")
    parser.add_argument(
        "--sentences", type=int, help=f"as many for every rule; {RECOGNISED} and {STOPPING} unless given"
    )
    parser.add_argument("--seeds", type=int, default=1, help="how often each sentence is spoken")
    parser.add_argument("--timesteps", type=int, dest="inference_timesteps")
    parser.add_argument("--cfg", type=float, dest="cfg_value")
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--streams", type=int, default=8, help="sentences in flight at once")
    parser.add_argument("--processes", type=int, default=2, help="processes that recognise")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep-wavs", type=Path, metavar="DIR")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    names = ("inference_timesteps", "cfg_value", "temperature")
    options = {name: getattr(arguments, name) for name in names}
    flite, report = FliteReader(), {}
    with VoxCPM.from_pretrained(arguments.model, arguments.device, max_num_seqs=arguments.streams) as model:
        reader = ModelReader(model, arguments.streams, options)
        for voice in [arguments.voice] if arguments.voice else reader.voices:
            report[voice] = judge_voice(reader, flite, voice, arguments)
            print(f"{voice} done", file=sys.stderr)
    print(table(report))
    missed = [(v, rule) for v, figures in report.items() for rule, met in figures["goals"].items() if not met]
    print("\n".join(f"missed: {voice}: {rule}" for voice, rule in missed) or "every goal is met")
    if arguments.json:
        result = {"model": arguments.model, **options, "voices": report}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
