"""Where the time of the bench of 256 requests goes: kinds of steps, who waited for whom, kernels, host calls.

    python -m benchmarks.llm.profile --shape 0.6b --device cuda [--windows 20 400] [--checkpoint DIR]

For each kind of step: how many there were, how long they took, and how much of that the host waited for the
device. A host that waits little is what holds the device up. From each of `--windows` on, some steps run
under torch.profiler and some more under cProfile; those are not counted. `--prompts`: 16 prompts of 4,000
tokens after it.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu.profile import DEVICE_CATEGORIES, recorded_events, table
from benchmarks.llm.__main__ import PREFILL_PROMPTS, PREFILL_TOKENS, bench_requests, prompts
from benchmarks.llm.checkpoints import SHAPES, write_checkpoint
from benchmarks.llm.systems import Ours, Prompts
from engine.device.staging import HostCopy, Mark
from engine.scheduling.batch import ScheduledSequence
from models.llm import SamplingParams
from models.llm.engine import TextEngine, TextRequest
from models.llm.programs.step_programs import StepPrograms

STEPS, STARTS = 8, 60
HEADINGS = ("steps", "share", "ms each", "waited", "rows", "launched", "room", "prompts")
ROWS = (0, 16, 64, 128, 192, 256)
Work = tuple[Prompts, list[int]]


class Step(NamedTuple):
    """decodes: rows; launched: rows of the next step, in a program with `room`; tokens: of prompts."""

    decodes: int
    launched: int
    room: int
    tokens: int
    seconds: float
    waited: float

    @property
    def kind(self) -> str:
        if not self.decodes:
            return "prompts"
        least = max(limit for limit in ROWS if limit < self.decodes)
        rows = f"{least + 1} to {next((limit for limit in ROWS if limit > least), least)}"
        return f"{rows} rows" + (" and prompts" if self.tokens else "")


class Watched:
    """An engine whose steps are told."""

    def __init__(self, engine: TextEngine) -> None:
        self.engine = engine
        self._batch: list[ScheduledSequence] = []
        self._launched, self._room, self._waited = 0, 0, 0.0

    def run(self, work: Work, around: Callable[[int], Any] = lambda number: nullcontext()) -> list[Step]:
        """Serve `work`; each step runs within `around(number of the step)`."""
        for number, (ids, count) in enumerate(zip(*work, strict=True)):
            params = SamplingParams(temperature=0.6, ignore_eos=True, max_tokens=count)
            self.engine.add_request(TextRequest(f"request {number}", ids, params, read_whole=True))
        steps: list[Step] = []
        with self._watching():
            while self.engine.has_unfinished():
                self._batch, self._launched, self._room, self._waited = [], 0, 0, 0.0
                began = time.perf_counter()
                with around(len(steps)):
                    self.engine.step()
                seconds = time.perf_counter() - began
                decodes = sum(row.count == 1 for row in self._batch)
                tokens = sum(row.count for row in self._batch) - decodes
                steps.append(Step(decodes, self._launched, self._room, tokens, seconds, self._waited))
        return steps

    @contextmanager
    def _watching(self) -> Iterator[None]:
        runner = self.engine._llm.runner
        run, room = runner.run, StepPrograms.for_decodes

        def told(batch: list[ScheduledSequence]) -> Any:
            self._batch = list(batch)
            return run(batch)

        def chosen(programs: StepPrograms, count: int, longest: int) -> Any:
            program = room(programs, count, longest)
            if program is not None:
                self._launched += count
                self._room += program.shape.num_decodes
            return program

        with (
            mock.patch.object(runner, "run", told),
            mock.patch.object(StepPrograms, "for_decodes", chosen),
            mock.patch.object(HostCopy, "wait", self._timed(HostCopy.wait)),
            mock.patch.object(Mark, "results", self._timed(Mark.results)),
        ):
            yield

    def _timed(self, wait: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def timed(waiting: Any) -> Any:
            began = time.perf_counter()
            try:
                return wait(waiting)
            finally:
                self._waited += time.perf_counter() - began

        return timed


def told(steps: list[Step]) -> str:
    """Of each kind of step: how many, their time, how much of it the host waited, rows and room for them."""
    total = sum(step.seconds for step in steps)
    lines = [f"{len(steps)} steps, {total:.2f} s, the host waited {sum(s.waited for s in steps):.2f} s"]
    lines.append("{:>6} {:>6} {:>8} {:>7} {:>6} {:>8} {:>6} {:>8}".format(*HEADINGS))
    for kind in sorted({step.kind for step in steps}, key=lambda kind: (len(kind), kind)):
        some = [step for step in steps if step.kind == kind]
        count, seconds = len(some), sum(step.seconds for step in some)
        lines.append(
            f"{count:6} {seconds / total:6.1%} {1e3 * seconds / count:8.2f} "
            f"{sum(step.waited for step in some) / seconds:7.1%} "
            f"{sum(step.decodes for step in some) / count:6.1f} "
            f"{sum(step.launched for step in some) / count:8.1f} "
            f"{sum(step.room for step in some) / count:6.1f} "
            f"{sum(step.tokens for step in some) / count:8.1f}  {kind}"
        )
    return "\n".join(lines)


class Windows:
    """Around steps: from each of `first` on some under torch.profiler, and as many under cProfile."""

    def __init__(self, first: list[int], on_device: bool, steps: int = STEPS) -> None:
        self._first, self._on_device, self._steps = first, on_device, steps
        self._end: Callable[[str], None] | None = None

    def __contains__(self, number: int) -> bool:
        """Whether a step, or the one before it, is in a window."""
        return any(first <= number <= first + 2 * self._steps for first in self._first)

    @contextmanager
    def __call__(self, number: int) -> Iterator[None]:
        for first, begin in zip((number, number - self._steps), (self._kernels, self._calls), strict=True):
            if first in self._first:
                self._end = begin()
        yield
        last = {number + 1 - self._steps, number + 1 - 2 * self._steps}
        if self._end is not None and last & {*self._first}:
            self._end(f"steps {number + 1 - self._steps} to {number}")
            self._end = None

    def _kernels(self) -> Callable[[str], None]:
        recorder = profile(activities=[ProfilerActivity.CUDA if self._on_device else ProfilerActivity.CPU])
        categories = DEVICE_CATEGORIES if self._on_device else ("cpu_op",)
        recorder.start()
        began = time.perf_counter()

        def end(title: str) -> None:
            if self._on_device:
                torch.cuda.synchronize()
            seconds = time.perf_counter() - began
            recorder.stop()
            print(table(recorded_events(recorder, categories), self._steps, seconds, title), flush=True)

        return end

    def _calls(self) -> Callable[[str], None]:
        recorder = cProfile.Profile()
        recorder.enable()

        def end(title: str) -> None:
            recorder.disable()
            print(f"host, {title}", flush=True)
            pstats.Stats(recorder).sort_stats("tottime").print_stats(24)

        return end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=tuple(SHAPES), default="0.6b")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--checkpoint", type=Path, help="where the random weights are, or are written")
    parser.add_argument("--windows", type=int, nargs="*", default=[])
    parser.add_argument("--prompts", action="store_true")
    parser.add_argument("--host", action="store_true", help="the device, a CPU, computes nothing")
    args = parser.parse_args()
    with ExitStack() as stack:
        if args.host:
            from benchmarks.llm.host import idle_engine

            engine = stack.enter_context(idle_engine())
        else:
            directory = args.checkpoint or Path(tempfile.gettempdir()) / f"qwen3-{args.shape}"
            write_checkpoint(directory, args.shape)
            engine = started(directory, args.device)
        examine(engine, args)


def started(directory: Path, device: str) -> TextEngine:
    """What its start is made of is told, kernels to compile included where there are any."""
    recorder = cProfile.Profile()
    began = time.perf_counter()
    with recorder:
        ours = Ours(directory, device)
        ours.generate([[100] * 128], [2])
    print(f"started in {time.perf_counter() - began:.1f} s", flush=True)
    pstats.Stats(recorder).sort_stats("cumtime").print_stats(STARTS)
    return ours.engine


def examine(engine: TextEngine, args: argparse.Namespace) -> None:
    watched, on_device = Watched(engine), engine.checkpoint.device.type != "cpu"
    windows = Windows(args.windows, on_device)
    steps = watched.run(bench_requests(), windows)
    print(told([step for number, step in enumerate(steps) if number not in windows]), flush=True)
    for seed in range(3 if args.prompts else 0):
        given = prompts(random.Random(seed), [PREFILL_TOKENS] * PREFILL_PROMPTS)
        work = given, [1] * PREFILL_PROMPTS
        began = time.perf_counter()
        steps = watched.run(work, Windows([0], on_device, 2) if seed == 2 else lambda number: nullcontext())
        print(f"prompts: {time.perf_counter() - began:.3f} s\n{told(steps)}", flush=True)


if __name__ == "__main__":
    main()
