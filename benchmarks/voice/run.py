"""Judges a voice in every respect that matters to listeners.

    python -m benchmarks.voice --json voice.json
    python -m benchmarks.voice --parts voices --voice default --sentences 20 --before voice.json
    python -m benchmarks.voice --parts speed --json voice.json          # on a machine that does nothing else

The parts:

    voices      held-out sentences: opinion score by DistillMOS, word error rate by Whisper tiny.en, pitch,
                length, all beside the teacher's own audio of the same sentences
    endings     many sentences: stops by themselves, runaways, silent and cut clips
    hard        one word, 300 characters, tongue twisters, repetitions, spelled letters, capitals, figures
    likeness    a reference of a speaker never heard: likeness by Resemblyzer, pitch, word error rate
    continuing  going on from a recording: word error rate, jump of pitch at the seam
    story       five minutes: drift of pitch, words a minute, word error rate
    speed       real-time factor of one stream and of eight, first audio

Sentences are those of `models/voxcpm/training/texts/held_out.txt`, whose sources no training saw. Without
`--sentences`, the default voice speaks 200 of them, every other voice 60. A JSON file that exists keeps the
parts, and the voices, that are not measured anew. The ten worst clips of each voice are listed, and with
`--spectrograms DIR` drawn there above the teacher's. `benchmarks/voice/judging/judges.py` and
`models/voxcpm/training/README.md` tell what to install. Ends with exit status 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from benchmarks.voice import report
from benchmarks.voice.judging import judge
from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.judging.measures import SAMPLE_RATE
from benchmarks.voice.judging.spectrograms import write_spectrograms
from benchmarks.voice.parts import continuing, hard, likeness, speed, story
from benchmarks.voice.speakers.readers import Clip, ModelReader, TeacherReader
from models.voxcpm import VoxCPM
from models.voxcpm.checkpoint import resolve_model
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines

PARTS = ("voices", "endings", "hard", "likeness", "continuing", "story")
OTHERS, DEFAULTS = 60, 200
WORST = 10


class Run:
    """One measurement: the model, the teachers and the judges, and what the command line asks for."""

    def __init__(self, model: VoxCPM, arguments: argparse.Namespace) -> None:
        names = ("inference_timesteps", "cfg_value", "temperature")
        self.options = {name: getattr(arguments, name) for name in names}
        self.model, self.arguments = model, arguments
        self.reader = ModelReader(model, arguments.streams, self.options)
        self.teacher, self.judges = TeacherReader(arguments.teacher), Judges(arguments.threads)
        self.texts = read_lines(HELD_OUT_FILE)

    def few(self, usual: int) -> list[str]:
        """Texts from the end of the held-out ones, which the default voice does not speak otherwise."""
        return self.texts[-min(self.arguments.sentences or usual, usual) :]

    def voices(self) -> dict[str, Any]:
        wanted = [self.arguments.voice] if self.arguments.voice else self.reader.voices
        return {voice: self._voice(voice) for voice in wanted}

    def _voice(self, voice: str) -> dict[str, Any]:
        arguments = self.arguments
        texts = self.texts[: arguments.sentences or (DEFAULTS if voice == "default" else OTHERS)]
        jobs = [{"text": t, "voice": voice, "seed": s} for s in range(arguments.seeds) for t in texts]
        clips, other = self.reader.read_all(jobs), self.teacher.counterpart(voice)
        wanted = [self.teacher.read(text, other) for text in texts] * arguments.seeds
        figures = {"teacher": other.name, **judge.judge(clips, wanted, self.judges)}
        figures["reference_pitch_hz"] = judge.reference_pitch(resolve_model(arguments.model), voice)
        figures["goals"] = judge.goals(voice, figures)
        if arguments.keep_wavs:
            keep_wavs(arguments.keep_wavs / voice, clips)
            keep_wavs(arguments.keep_wavs / f"{voice}-teacher", wanted[: len(texts)])
        ranked = judge.worst_first(figures)[:WORST]
        if arguments.spectrograms:
            found = {(clip.text, clip.seed): pair for clip, *pair in zip(clips, clips, wanted, strict=True)}
            pairs = [tuple(found[clip["text"], clip["seed"]]) for clip in ranked]
            write_spectrograms(arguments.spectrograms, voice, pairs)
        return {**figures, "sentences": ranked}

    def endings(self) -> dict[str, Any]:
        texts, seeds = self.texts[: self.arguments.sentences], self.arguments.ending_seeds
        clips = self.reader.read_all([{"text": t, "seed": 100 + s} for s in range(seeds) for t in texts])
        figures = judge.endings(clips)
        good = figures["stop_rate"] == 1.0 and figures["silent"] + figures["cut"] + figures["too_long"] == 0
        return {**figures, "goals": {"endings: every clip stops by itself, none is silent or cut": good}}

    def hard(self) -> dict[str, Any]:
        figures = hard.measure(self.reader, self.teacher, self.judges, self.arguments.hard_seeds)
        return {**figures, "goals": hard.goals(figures)}

    def likeness(self, default_errors: float | None) -> dict[str, Any]:
        long = [text for text in self.texts if len(text) >= likeness.SHORTEST_TEXT]
        texts = long[-likeness.RECORDINGS - min(self.arguments.sentences or 10, 10) :]
        figures = likeness.measure(self.reader, self.teacher, self.judges, texts, self.arguments.sounds)
        return {**figures, "goals": likeness.goals(figures, default_errors)}

    def continuing(self, default_errors: float | None) -> dict[str, Any]:
        figures = continuing.measure(self.reader, self.teacher, self.judges, self.few(13))
        return {**figures, "goals": continuing.goals(figures, default_errors)}

    def story(self) -> dict[str, Any]:
        voice = self.arguments.voice or "default"
        speaker = self.teacher.counterpart(voice)
        figures = story.measure(
            self.reader, lambda text: self.teacher.read(text, speaker), self.judges, voice
        )
        return {**figures, "goals": story.goals(figures)}

    def speed(self) -> dict[str, Any]:
        figures = speed.measure(self.model, self.texts, self.options)
        return {**figures, "goals": speed.goals(figures)}


def keep_wavs(folder: Path, clips: list[Clip]) -> None:
    """`folder/000.wav`, ... in the order of the clips."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, clip in enumerate(clips):
        soundfile.write(folder / f"{index:03d}.wav", clip.samples, SAMPLE_RATE, subtype="PCM_16")


def measure(run: Run, results: dict[str, Any], save: Callable[[], None]) -> None:
    """Every part that is wanted, into `results`; what is there already stays where nothing is new."""
    for part in run.arguments.parts:
        if part == "voices":
            results["voices"] = results.get("voices", {}) | run.voices()
        elif part in ("likeness", "continuing"):
            default = results.get("voices", {}).get("default", {}).get("word_error_rate")
            results[part] = getattr(run, part)(default)
        else:
            results[part] = getattr(run, part)()
        save()
        print(f"{part} done", file=sys.stderr, flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="bundled", help="bundled, a checkpoint directory or a hub id")
    parser.add_argument("--parts", nargs="+", choices=(*PARTS, "speed"), default=PARTS)
    parser.add_argument("--speed", action="store_const", dest="parts", const=("speed",), help="--parts speed")
    parser.add_argument("--voice", help="judge this voice alone")
    parser.add_argument("--sentences", type=int, help=f"of each voice; {DEFAULTS} and {OTHERS} unless given")
    parser.add_argument("--seeds", type=int, default=1, help="how often each sentence is spoken")
    parser.add_argument("--ending-seeds", type=int, default=4, help="the same, where only endings count")
    parser.add_argument("--hard-seeds", type=int, default=2, help="how often each hard text is spoken")
    parser.add_argument("--timesteps", type=int, dest="inference_timesteps")
    parser.add_argument("--cfg", type=float, dest="cfg_value")
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--streams", type=int, default=8, help="sentences in flight at once")
    parser.add_argument("--threads", type=int, default=2, help="threads of the judges")
    parser.add_argument("--teacher", default="heart", help="whom voices of other names are measured against")
    parser.add_argument(
        "--sounds", type=Path, metavar="DIR", help="a person to imitate: speakers/strangers.py"
    )
    parser.add_argument("--before", type=Path, help="JSON of an earlier run to stand beside this one")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep-wavs", type=Path, metavar="DIR")
    parser.add_argument(
        "--spectrograms", type=Path, metavar="DIR", help="of the ten worst clips of each voice"
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    kept = arguments.json if arguments.json and arguments.json.exists() else None
    results = json.loads(kept.read_text()) if kept else {}
    before = json.loads(arguments.before.read_text()).get("voices", {}) if arguments.before else {}

    def save() -> None:
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1, default=np.generic.item) + "\n")

    with VoxCPM.from_pretrained(arguments.model, arguments.device, max_num_seqs=arguments.streams) as model:
        run = Run(model, arguments)
        results |= {"model": model.info.name, "revision": model.info.revision, "options": run.options}
        measure(run, results, save)
    print(report.text(results, before))
    return 1 if report.missed(results) else 0
