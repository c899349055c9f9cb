"""Judges a voice: does it sound well, can it be understood, does it stop, are the voices told apart.

    python -m benchmarks.voice --model bundled --json voice.json
    python -m benchmarks.voice --model DIR --voice default --sentences 20 --before voice.json --keep-wavs wavs

Sentences of `models/voxcpm/training/held_out.txt`, whose sources no training saw, are spoken through the
public Python API, several in flight at once. Every figure stands beside that of the teacher's own audio of
the same sentences: estimated opinion score by DistillMOS, word error rate by Whisper tiny.en, duration,
median pitch. `--before` adds the figures of an earlier run. The ten worst clips are listed. Without
`--sentences`, the default voice speaks 200 sentences, every other voice 60. What to install is in
`benchmarks/voice/judges.py` and `models/voxcpm/training/README.md`. Ends with exit status 1 where a goal is
missed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from benchmarks.voice.judges import Judges
from benchmarks.voice.measures import (
    SAMPLE_RATE,
    largest_jump,
    median_pitch,
    plain_words,
    spoken_seconds,
    word_error_rate,
)
from models.voxcpm import VoxCPM
from models.voxcpm.audio_encoding import read_audio, resample
from models.voxcpm.checkpoint import resolve_model
from models.voxcpm.training.flite import VOICES
from models.voxcpm.training.recipe import DEFAULT_VOICE
from models.voxcpm.training.teachers import SPEECH_RATE, Speaker, Teachers
from models.voxcpm.training.text import HELD_OUT_FILE, read_lines

OTHERS, DEFAULTS = 60, 200
WORST = 10
ALONE = 3  # clips spoken one after the other, for the real-time factor of one stream
LEAST_MOS = {True: (4.0, 3.2), False: (3.8, 3.0)}
"""Mean and worst clip, of the default voice and of the others."""
MOST_ERRORS, MOST_TIMES_THE_TEACHERS = 0.03, 2.5


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


class TeacherReader:
    """The teachers' own audio of sentences, trimmed and levelled as the training saw it."""

    def __init__(self, default: str = DEFAULT_VOICE) -> None:
        self._teachers, self._default = Teachers(), default

    def counterpart(self, voice: str) -> str:
        """The teacher that `voice` is measured against."""
        return voice if voice in (*VOICES, "heart", "joe") else self._default

    def read(self, text: str, teacher: str) -> Clip:
        samples = self._teachers.read(text, Speaker(teacher), random.Random(0)).astype(np.float32) / 32768
        return Clip(text, resample(samples, SPEECH_RATE, SAMPLE_RATE))


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
    """Length of each clip over that of the teacher's, silence before and after left aside."""
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


def heard_and_scored(clips: Sequence[Clip], judges: Judges) -> tuple[list[str], list[float]]:
    """What the judges hear in each clip, and their opinion of it."""
    return [judges.words(c.samples) for c in clips], [judges.opinion_score(c.samples) for c in clips]


def judge(clips: list[Clip], wanted: list[Clip], judges: Judges) -> dict[str, Any]:
    """Figures of `clips` beside those of the teacher's clips of the same texts."""
    texts, once = [clip.text for clip in clips], list({clip.text: clip for clip in wanted}.values())
    heard, scores = heard_and_scored(clips, judges)
    teacher_heard, teacher_scores = heard_and_scored(once, judges)
    reasons, ratios = Counter(str(clip.finish_reason) for clip in clips), duration_ratios(clips, wanted)
    return {
        "clips": len(clips),
        "mos": float(np.mean(scores)),
        "mos_worst": float(np.min(scores)),
        "teacher_mos": float(np.mean(teacher_scores)),
        "teacher_mos_worst": float(np.min(teacher_scores)),
        "word_error_rate": word_error_rate(texts, heard),
        "teacher_word_error_rate": word_error_rate([clip.text for clip in once], teacher_heard),
        "finish_reasons": dict(reasons),
        "stop_rate": reasons["stop"] / len(clips),
        "worst_duration_ratio": max(ratios, key=lambda ratio: abs(ratio - 1)),
        "median_duration_ratio": float(np.median(ratios)),
        "largest_jump": max(largest_jump(clip.samples) for clip in clips),
        "pitch_hz": pitch_of(clips),
        "teacher_pitch_hz": pitch_of(wanted),
        "sentences": [
            {"text": clip.text, "seed": clip.seed, "mos": round(score, 2), "duration_ratio": round(ratio, 3)}
            | {"finish_reason": clip.finish_reason, "heard": words}
            for clip, score, ratio, words in zip(clips, scores, ratios, heard, strict=True)
        ],
    }


def goals(voice: str, figures: dict[str, Any]) -> dict[str, bool]:
    """The rules a bundled voice is held to, and whether this one keeps them."""
    mean, worst = LEAST_MOS[voice == "default"]
    errors = max(MOST_ERRORS, MOST_TIMES_THE_TEACHERS * figures["teacher_word_error_rate"])
    met = {
        f"opinion score >= {mean}": figures["mos"] >= mean,
        f"opinion score of the worst clip >= {worst}": figures["mos_worst"] >= worst,
        f"word error rate <= {MOST_ERRORS} or {MOST_TIMES_THE_TEACHERS} x the teacher's": figures[
            "word_error_rate"
        ]
        <= errors,
        "every clip stops by itself": figures["stop_rate"] == 1.0,
    }
    reference = figures["reference_pitch_hz"] or figures["teacher_pitch_hz"]
    if reference:
        own = figures["pitch_hz"] or 0.0
        met["pitch within 10 % of the reference's"] = abs(own / reference - 1) <= 0.1
    return met


def worst_clips(figures: dict[str, Any]) -> list[str]:
    """The clips with the lowest opinion scores, and what was heard where that is something else."""
    lines = []
    for clip in sorted(figures["sentences"], key=lambda clip: clip["mos"])[:WORST]:
        wrong = plain_words(clip["heard"]) != plain_words(clip["text"])
        heard = f" (heard: {clip['heard']})" if wrong else ""
        lines.append(f"{clip['mos']:.2f}  {clip['text']}{heard}")
    return lines


def table(report: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]]) -> str:
    """One line per voice; figures of the teacher, and of the voice before, in brackets."""
    heads = ("voice", "clips", "MOS (teacher, before)", "worst", "WER (teacher, before)", "stops")
    heads += ("length", "pitch (teacher, clip)", "RTF alone, batched", "first ms")
    rows = [heads]
    for voice, f in report.items():
        pitches = [f"{p:.0f}" if p else "-" for p in (f["teacher_pitch_hz"], f["reference_pitch_hz"])]
        earlier = before.get(voice, {})
        mos = f"{earlier['mos']:.2f}" if "mos" in earlier else "-"
        errors = f"{earlier['word_error_rate']:.3f}" if "mos" in earlier else "-"
        rows.append(
            (
                voice,
                str(f["clips"]),
                f"{f['mos']:.2f} ({f['teacher_mos']:.2f}, {mos})",
                f"{f['mos_worst']:.2f} ({f['teacher_mos_worst']:.2f})",
                f"{f['word_error_rate']:.3f} ({f['teacher_word_error_rate']:.3f}, {errors})",
                f"{f['stop_rate']:.1%}",
                f"{f['median_duration_ratio']:.2f}",
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
    reader: ModelReader, teacher: TeacherReader, judges: Judges, voice: str, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Let one voice speak its sentences, and measure it."""
    count = arguments.sentences or (DEFAULTS if voice == "default" else OTHERS)
    texts = read_lines(HELD_OUT_FILE)[:count]
    alone = reader.alone(texts[:ALONE], voice)
    clips, seconds = reader.read_all(texts, voice, arguments.seeds)
    other = teacher.counterpart(voice)
    wanted = [teacher.read(text, other) for text in texts] * arguments.seeds
    if arguments.keep_wavs:
        keep_wavs(arguments.keep_wavs / voice, clips)
        keep_wavs(arguments.keep_wavs / f"{voice}-teacher-{other}", wanted[: len(texts)])
    figures = judge(clips, wanted, judges)
    spoken = sum(clip.seconds for clip in clips)
    figures |= {"teacher": other, "audio_seconds": spoken, "rtf_batched": seconds / spoken, **alone}
    figures["reference_pitch_hz"] = reference_pitch(resolve_model(arguments.model), voice)
    return {**figures, "goals": goals(voice, figures)}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="bundled", help="bundled, a checkpoint directory or a hub id")
    parser.add_argument("--voice", help="judge this voice alone")
    parser.add_argument("--sentences", type=int, help=f"of each voice; {DEFAULTS} and {OTHERS} unless given")
    parser.add_argument("--seeds", type=int, default=1, help="how often each sentence is spoken")
    parser.add_argument("--timesteps", type=int, dest="inference_timesteps")
    parser.add_argument("--cfg", type=float, dest="cfg_value")
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--streams", type=int, default=8, help="sentences in flight at once")
    parser.add_argument("--threads", type=int, default=2, help="threads of the judges")
    parser.add_argument(
        "--teacher", default=DEFAULT_VOICE, help="whom voices of other names are measured against"
    )
    parser.add_argument("--before", type=Path, help="JSON of an earlier run to stand beside this one")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep-wavs", type=Path, metavar="DIR")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    names = ("inference_timesteps", "cfg_value", "temperature")
    options = {name: getattr(arguments, name) for name in names}
    teacher, judges, report = TeacherReader(arguments.teacher), Judges(arguments.threads), {}
    before = json.loads(arguments.before.read_text())["voices"] if arguments.before else {}
    with VoxCPM.from_pretrained(arguments.model, arguments.device, max_num_seqs=arguments.streams) as model:
        reader = ModelReader(model, arguments.streams, options)
        for voice in [arguments.voice] if arguments.voice else reader.voices:
            report[voice] = judge_voice(reader, teacher, judges, voice, arguments)
            print(f"{voice} done", file=sys.stderr)
    print(table(report, before))
    for voice, figures in report.items():
        print(f"worst clips of {voice}:", *worst_clips(figures), sep="\n  ")
    missed = [(v, rule) for v, figures in report.items() for rule, met in figures["goals"].items() if not met]
    print("\n".join(f"missed: {voice}: {rule}" for voice, rule in missed) or "every goal is met")
    if arguments.json:
        result = {"model": arguments.model, **options, "voices": report}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
