"""Trains the bundled voice from nothing: runs every stage, watches them, gathers what they make.

    python -m models.voxcpm.training.pipeline --carry .carry --out DIR --budget-seconds 1600 --gpus 2

Speech is synthesised by most CPU cores while stage 1 of the VAE trains on all GPUs; then the language
model has the first GPU and the VAE's decoder the second. With one GPU the stages follow one another.
`DIR/status.json` says at any time where every stage stands; the other files of DIR are the newest
weights in pieces (see pieces.py), written again and again, so that a run cut short leaves a voice.
Started again with the same `--work`, a run goes on from its checkpoints.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np

from . import synthesis
from .progress import last_report, write_atomically
from .recipe import VOICE_WEIGHTS, Recipe, tiny_recipe
from .text import HELD_OUT_FILE, read_lines

GATHER_EVERY_SECONDS = 120.0
HUNG_AFTER_SECONDS = 45.0
VALIDATION_SENTENCES = 24
VALIDATION_SAMPLES = 32000
PACKAGE = "models.voxcpm.training"


@dataclass(frozen=True)
class Schedule:
    """When the stages start and end, in seconds since the epoch."""

    begin: float
    vae_end: float
    decoder_start: float
    decoder_end: float
    lm_start: float
    lm_end: float
    end: float


def plan(begin: float, budget_seconds: float, gpus: int) -> Schedule:
    """Two GPUs train decoder and language model side by side; one does so in turn, 45 % VAE and 55 % the rest."""
    end = begin + budget_seconds
    closing = min(75.0, 0.15 * budget_seconds)
    lm_end = end - closing
    vae_end = begin + 0.3 * budget_seconds
    if gpus > 1:
        return Schedule(begin, vae_end, begin, lm_end - 5, begin, lm_end, end)
    decoder_end = begin + 0.45 * budget_seconds
    lead = min(60.0, 0.03 * budget_seconds)
    return Schedule(begin, vae_end, vae_end - lead, decoder_end, decoder_end - lead, lm_end, end)


@dataclass
class Stage:
    """A training script in a process of its own, started again when it fails."""

    name: str
    module: str
    arguments: list[str]
    start_at: float
    work: Path
    retries: int = 2
    process: subprocess.Popen | None = None
    finished: bool = False
    log: TextIO | None = field(default=None, repr=False)

    def start(self) -> None:
        self.log = open(self.work / f"{self.name}.log", "a")
        command = [
            sys.executable,
            "-u",
            "-m",
            f"{PACKAGE}.{self.module}",
            "--work",
            str(self.work),
            *self.arguments,
        ]
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def watch(self) -> str:
        """Start or restart as is due; returns waiting, running, done or failed."""
        if self.finished:
            return "done"
        if self.process is None:
            if time.time() < self.start_at:
                return "waiting"
            self.start()
        code = self.process.poll()
        if code is None:
            return "running"
        if code == 0:
            self.finished = True
            return "done"
        if self.retries == 0:
            return "failed"
        self.retries -= 1
        self.start()
        return "running"

    def state(self) -> dict:
        code = self.process.poll() if self.process else None
        report = {"exit_code": code, **last_report(self.work, self.name)}
        if code:
            tail = (self.work / f"{self.name}.log").read_text(errors="replace")[-1500:]
            report["log_tail"] = tail
        return report


class Pipeline:
    """One run: the schedule, the stages, the synthesis processes and the folders."""

    def __init__(self, args: argparse.Namespace, recipe: Recipe) -> None:
        self.args, self.recipe = args, recipe
        self.out, self.work = args.out, args.work or args.out.with_name(args.out.name + "-work")
        self.out.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)
        self.schedule = plan(time.time(), args.budget_seconds, args.gpus)
        self.vae_ranks = self._vae_stages(max(1, args.gpus))
        second = "1" if args.gpus > 1 else "0"
        self.decoder = self._stage(
            "decoder",
            "train_decoder",
            self.schedule.decoder_start,
            self.schedule.decoder_end,
            "--gpu",
            second,
        )
        self.lm = self._stage("lm", "train_lm", self.schedule.lm_start, self.schedule.lm_end, "--gpu", "0")
        self.gathering: subprocess.Popen | None = None

    def _stage(self, name: str, module: str, start: float, deadline: float, *more: str) -> Stage:
        arguments = ["--deadline", f"{deadline:.1f}", "--recipe", self.args.recipe, *more]
        return Stage(name, module, arguments, start, self.work)

    def _vae_stages(self, world: int) -> list[Stage]:
        stages = []
        for rank in range(world):
            name = "vae" if rank == 0 else f"vae_rank{rank}"
            more = ("--gpu", str(rank), "--rank", str(rank), "--world", str(world))
            stage = self._stage(name, "train_vae", self.schedule.begin, self.schedule.vae_end, *more)
            stage.retries = 0 if world > 1 else 2
            stages.append(stage)
        return stages

    def start_speech(self) -> None:
        """Validation audio first, then the synthesis processes, unless an earlier run left them done."""
        np.save(self.work / "validation.npy", validation_speech(self.args.carry))
        speech = self.work / "speech"
        if any(speech.glob("*.i16")):
            self.speakers = []
            return
        processes = max(1, (os.cpu_count() or 1) - 4)
        self.speakers = synthesis.start(
            self.args.carry, speech, self.recipe.hours, processes, self.schedule.vae_end, VOICE_WEIGHTS
        )

    def watch(self) -> dict[str, str]:
        """One look at every stage; a data-parallel stage 1 that fails goes on with one GPU."""
        states = {stage.name: stage.watch() for stage in self.vae_ranks}
        hung = (
            time.time() > self.schedule.vae_end + HUNG_AFTER_SECONDS and not (self.work / "vae.pt").exists()
        )
        if len(self.vae_ranks) > 1 and (hung or "failed" in states.values()):
            for stage in self.vae_ranks:
                stage.stop()
            self.vae_ranks = self._vae_stages(1)
            states = {stage.name: stage.watch() for stage in self.vae_ranks}
        for stage in (self.decoder, self.lm):
            states[stage.name] = stage.watch()
        return states

    def write_status(self, states: dict[str, str]) -> None:
        now = time.time()
        stages = [*self.vae_ranks, self.decoder, self.lm]
        spoken = (
            sum(path.stat().st_size for path in (self.work / "speech").glob("*.i16"))
            / 2
            / synthesis.SAMPLE_RATE
            / 3600
        )
        status = {
            "seconds": round(now - self.schedule.begin),
            "seconds_left": round(self.schedule.end - now),
            "speech_hours": round(spoken, 2),
            "speaking_processes": sum(p.is_alive() for p in self.speakers),
            "stages": {s.name: {"is": states.get(s.name), **s.state()} for s in stages},
        }
        write_atomically(self.out / "status.json", json.dumps(status, indent=1).encode())

    def gather(self, wait: bool = False) -> None:
        """Write the newest weights as pieces, in a process of its own."""
        if self.gathering and self.gathering.poll() is None:
            self.gathering.wait()
        command = [
            sys.executable,
            "-m",
            f"{PACKAGE}.pieces",
            "--work",
            str(self.work),
            "--out",
            str(self.out),
            "--recipe",
            self.args.recipe,
        ]
        with open(self.work / "pieces.log", "a") as log:
            self.gathering = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )
        if wait:
            self.gathering.wait()

    def run(self) -> int:
        """Run to the end; returns the process's exit code."""
        self.start_speech()
        gathered = time.time()
        while True:
            states = self.watch()
            self.write_status(states)
            if set(states.values()) <= {"done", "failed"} or time.time() > self.schedule.end:
                break
            if time.time() - gathered > GATHER_EVERY_SECONDS:
                self.gather()
                gathered = time.time()
            time.sleep(2)
        for stage in [*self.vae_ranks, self.decoder, self.lm]:
            stage.stop()
        for process in self.speakers:
            process.terminate()
        self.gather(wait=True)
        states = self.watch_only()
        self.write_status(states)
        print(json.dumps(states), flush=True)
        return 0 if set(states.values()) == {"done"} else 1

    def watch_only(self) -> dict[str, str]:
        return {s.name: "done" if s.finished else "failed" for s in [*self.vae_ranks, self.decoder, self.lm]}


def validation_speech(carry: Path) -> np.ndarray:
    """Held-out sentences in four voices, cut or padded to two seconds: int16 [N, samples]."""
    flite = synthesis.Flite(carry)
    gains = synthesis.voice_gains(flite)
    texts = read_lines(HELD_OUT_FILE)[:VALIDATION_SENTENCES]
    rows = [synthesis.speak(flite, t, v, gains)[:VALIDATION_SAMPLES] for t in texts for v in synthesis.VOICES]
    return np.stack([np.pad(row, (0, VALIDATION_SAMPLES - len(row))) for row in rows])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--carry",
        type=Path,
        default=Path(".carry"),
        help="folder with the text files and the flite libraries",
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="speech, checkpoints and logs; OUT-work unless given")
    parser.add_argument("--budget-seconds", type=float, default=3600.0)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--recipe", choices=("voice", "tiny"), default="voice")
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    recipe = tiny_recipe() if args.recipe == "tiny" else Recipe()
    return Pipeline(args, recipe).run()


if __name__ == "__main__":
    sys.exit(main())
