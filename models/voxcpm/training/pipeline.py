"""Trains the bundled voice: runs every stage, watches them, gathers what they make.

    python -m models.voxcpm.training.pipeline --out DIR --budget-seconds 3600 --gpus 1

Speech is synthesised by half the CPU cores while stage 1 of the VAE trains on all GPUs; then the language
model has the first GPU and the VAE's decoder the others. With one GPU the stages follow one another.
`DIR/status.json` says at any time where every stage stands; the other files of DIR are the newest
weights in pieces (see checkpoint/pieces.py), written again and again, so that a run cut short leaves a voice.
Started again with the same `--work`, a run goes on from its checkpoints. With `--init` it goes on from
a finished voice (see checkpoint/warm_start.py).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from models.voxcpm.training.recipe import Recipe, recipe_named
from models.voxcpm.training.speech import synthesis
from models.voxcpm.training.speech.teachers import SPEECH_RATE
from models.voxcpm.training.stages.stage import Stage, StageGroup, start_module
from models.whole_files import write_atomically

STAGE_MODULES = {"vae": "vae.train_vae", "decoder": "vae.train_decoder", "lm": "lm.train_lm"}
GATHER_EVERY_SECONDS, GATHER_LOG = 120.0, "pieces.log"


@dataclass(frozen=True)
class Schedule:
    """When the stages start and end, in seconds since the epoch."""

    begin: float
    speech_end: float
    vae_end: float
    decoder_start: float
    decoder_end: float
    lm_start: float
    lm_end: float
    end: float


def plan(
    begin: float, budget_seconds: float, gpus: int, trains_vae: bool = True, vae_share: float = 0.6
) -> Schedule:
    """Several GPUs train decoder and language model side by side, one does so in turn.

    The audio VAE is what limits the voice: stage 1 has `vae_share` of the time, and the synthesis as long;
    without stage 1 the synthesis has 40 %. On one GPU the decoder is done after 78 % (45 % without stage 1).
    """
    end = begin + budget_seconds
    lm_end = end - min(75.0, 0.1 * budget_seconds)
    speech_end = begin + (vae_share if trains_vae else 0.4) * budget_seconds
    vae_end = speech_end if trains_vae else begin
    if gpus > 1:
        return Schedule(begin, speech_end, vae_end, begin, lm_end - 5, begin, lm_end, end)
    decoder_end = begin + (0.5 * (1 + vae_share) if trains_vae else 0.45) * budget_seconds
    lead = min(60.0, 0.03 * budget_seconds)  # for compiling beside the stage before
    decoder_start = max(begin, vae_end - lead)
    return Schedule(begin, speech_end, vae_end, decoder_start, decoder_end, decoder_end - lead, lm_end, end)


class Pipeline:
    """One run: the schedule, the stages, the synthesis processes and the folders."""

    def __init__(self, args: argparse.Namespace, recipe: Recipe) -> None:
        self.args, self.recipe = args, recipe
        self.out, self.work = args.out, args.work or args.out.with_name(args.out.name + "-work")
        self.out.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)
        self.speech = self.work / "speech"
        self.speech_exists = any(self.speech.glob("*.i16"))
        trains_vae = (args.init is None or args.retrain_vae) and not (self.work / "vae.pt").exists()
        self.schedule = plan(time.time(), args.budget_seconds, args.gpus, trains_vae, args.vae_share)
        self.speakers: list = []
        times, gpus = self.schedule, list(range(max(1, args.gpus)))
        self.vae = self._group(
            "vae", gpus if trains_vae else gpus[:1], 29571, "vae.pt", times.begin, times.vae_end
        )
        self.decoder = self._group(
            "decoder", gpus[1:] or gpus, 29572, "decoder.pt", times.decoder_start, times.decoder_end
        )
        until = times.begin if self.speech_exists and not args.speech_follows else times.speech_end
        self.lm = self._stage("lm", times.lm_start, times.lm_end, "--speech-until", f"{until:.1f}")
        self.last_moment = times.end + args.grace_seconds
        self.gathering: subprocess.Popen | None = None

    @property
    def stages(self) -> list[Stage]:
        return [*self.vae.stages, *self.decoder.stages, self.lm]

    def _stage(self, name: str, start: float, deadline: float, *more: str) -> Stage:
        arguments = ["--deadline", f"{deadline:.1f}", "--recipe", self.args.recipe, *more]
        if self.args.init:
            arguments += ["--init", str(self.args.init)]
        return Stage(name, STAGE_MODULES[name], arguments, start, self.work)

    def _group(
        self, name: str, gpus: list[int], port: int, result: str, start: float, deadline: float
    ) -> StageGroup:
        more = ["--retrain"] if name == "vae" and self.args.retrain_vae else []
        return StageGroup(self._stage(name, start, deadline, *more), gpus, port, result, deadline)

    def start_speech(self) -> None:
        """Validation audio first, then the synthesis processes, unless an earlier run left speech."""
        if not (self.work / synthesis.VALIDATION_FILE).exists():
            recipe = self.recipe
            synthesis.write_validation_speech(
                self.work, self.args.carry, recipe.validation_sentences, recipe.validation_speakers
            )
        if not self.speech_exists:
            processes = max(1, (os.cpu_count() or 1) // 2)
            self.speakers = synthesis.start(
                self.args.carry,
                self.speech,
                self.recipe.hours,
                processes,
                self.schedule.speech_end + self.args.grace_seconds,
                self.recipe.teacher_weights,
            )

    def watch(self) -> set[str]:
        """One look at every stage."""
        return self.vae.watch() | self.decoder.watch() | {self.lm.watch()}

    def write_status(self) -> None:
        now = time.time()
        spoken = sum(path.stat().st_size for path in self.speech.glob("*.i16")) / 2
        status = {
            "seconds": round(now - self.schedule.begin),
            "seconds_left": round(self.schedule.end - now),
            "speech_hours": round(spoken / SPEECH_RATE / 3600, 2),
            "speaking_processes": sum(process.is_alive() for process in self.speakers),
            "stages": {stage.name: stage.report() for stage in self.stages},
        }
        write_atomically(self.out / "status.json", json.dumps(status, indent=1).encode())

    def gather(self, wait: bool = False) -> bool:
        """Write the newest weights as pieces, in a process of its own. wait: False where that failed."""
        if self.gathering:
            self.gathering.wait()
        arguments = ["--work", str(self.work), "--out", str(self.out), "--recipe", self.args.recipe]
        self.gathering = start_module("checkpoint.pieces", arguments, self.work / GATHER_LOG)
        return not wait or self.gathering.wait() == 0

    def stop(self) -> None:
        """End every process that is still under way."""
        for stage in self.stages:
            stage.stop()
        for process in self.speakers:
            process.terminate()

    def run(self) -> int:
        """Run to the end; returns the process's exit code."""
        try:
            self.start_speech()
            gathered = time.time()
            while not self.watch() <= {"done", "failed"} and time.time() < self.last_moment:
                self.write_status()
                if time.time() - gathered > GATHER_EVERY_SECONDS:
                    self.gather()
                    gathered = time.time()
                time.sleep(1)
        finally:
            self.stop()
        is_written = self.gather(wait=True)
        self.write_status()
        states = {stage.name: stage.state for stage in self.stages}
        print(json.dumps(states), flush=True)
        if not is_written:
            print(f"the weights could not be written: see {self.work / GATHER_LOG}", file=sys.stderr)
        return 0 if is_written and set(states.values()) == {"done"} else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--carry",
        type=Path,
        default=Path(".carry"),
        help="folder with the text files and, where flite is not installed, its libraries",
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="speech, checkpoints and logs; OUT-work unless given")
    parser.add_argument("--budget-seconds", type=float, default=3600.0)
    parser.add_argument(
        "--grace-seconds", type=float, default=0.0, help="longer a stage may take to write what it has"
    )
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--recipe", choices=("voice", "tiny"), default="voice")
    parser.add_argument("--vae-share", type=float, default=0.6, help="share of the time that stage 1 has")
    parser.add_argument(
        "--speech-follows",
        action="store_true",
        help="the speech there is still being written by somebody else",
    )
    parser.add_argument("--init", type=Path, help="pieces or a checkpoint directory to go on from")
    parser.add_argument("--retrain-vae", action="store_true", help="with --init: train the encoder on, too")
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return Pipeline(args, recipe_named(args.recipe)).run()


if __name__ == "__main__":
    sys.exit(main())
