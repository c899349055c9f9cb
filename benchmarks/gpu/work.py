"""The work that engines are measured with on a GPU, and what is made of their clocks.

Whoever is measured looks like `Engine`: clips go in, steps come out, one patch per clip and step. A run notes
when each patch was on the host; from that come first audio, real-time factors and, by playing every stream as
a listener would, underruns:

    arrivals 0.02 0.05 0.40 s, patches of 160 ms, playback 80 ms after the first: the third is 0.02 s late
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

TIMESTEPS, CFG_VALUE = 10, 2.0
PRE_ROLL_SECONDS = 0.08
TEXTS = {"short": ("hello world again.", 20), "long": ("the thing hello world, " * 12, 64)}
"""Kind -> text and patches; each stream puts its number in front, so that no two begin alike."""


@dataclass(frozen=True)
class Clip:
    """What one stream asks for, `start` seconds after the run began."""

    name: str
    text: str
    patches: int
    start: float = 0.0


class Engine(Protocol):
    """What is measured."""

    patch_seconds: float

    def add(self, clip: Clip) -> None:
        """Queue a clip that ends after `clip.patches` patches, whatever the model says."""

    def step(self) -> list[str]:
        """Compute; the names of the clips whose next patch is on the host now."""

    def busy(self) -> bool:
        """Whether `step` has anything to do."""


@dataclass
class Run:
    """Times in seconds since the run began."""

    clips: list[Clip]
    arrivals: dict[str, list[float]]
    steps: list[tuple[float, int]] = field(default_factory=list)
    """Seconds and patches of each step."""


def clips(kind: str, streams: int, patches: int | None = None, ramp_seconds: float = 0.0) -> list[Clip]:
    """`streams` clips of a kind, their starts spread evenly over a ramp."""
    text, usual = TEXTS[kind]
    return [
        Clip(f"{kind}-{i}", f"{i} {text}", patches or usual, ramp_seconds * i / streams)
        for i in range(streams)
    ]


def run(engine: Engine, work: Sequence[Clip], clock: Callable[[], float] = time.perf_counter) -> Run:
    """Serve `work` to its end in this thread. Raises RuntimeError when a clip comes out short."""
    result = Run(list(work), {clip.name: [] for clip in work})
    waiting = deque(sorted(work, key=lambda clip: clip.start))
    began = clock()
    while waiting or engine.busy():
        while waiting and clock() - began >= waiting[0].start:
            engine.add(waiting.popleft())
        if not engine.busy():
            time.sleep(max(0.0, min(0.001, waiting[0].start - (clock() - began))))
            continue
        before = clock()
        names = engine.step()
        now = clock()
        result.steps.append((now - before, len(names)))
        for name in names:
            result.arrivals[name].append(now - began)
    short = [clip.name for clip in work if len(result.arrivals[clip.name]) != clip.patches]
    if short:
        raise RuntimeError(f"{len(short)} clips have another length than asked for, such as {short[0]}")
    return result


def playback(
    arrivals: Sequence[float], patch_seconds: float, pre_roll: float = PRE_ROLL_SECONDS
) -> tuple[int, float]:
    """(underruns, seconds of silence) of a listener who starts `pre_roll` after the first patch arrived."""
    underruns, silence = 0, 0.0
    runs_dry = arrivals[0] + pre_roll
    for arrival in arrivals:
        if arrival > runs_dry:
            underruns += 1
            silence += arrival - runs_dry
            runs_dry = arrival
        runs_dry += patch_seconds
    return underruns, silence


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of them lie, the next one up; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def summary(result: Run, patch_seconds: float) -> dict[str, Any]:
    """The figures of a run; steps count that served as many clips as the fullest did."""
    fullest = max(rows for _, rows in result.steps)
    full = [seconds for seconds, rows in result.steps if rows == fullest]
    first = [result.arrivals[clip.name][0] - clip.start for clip in result.clips]
    factors = [
        (result.arrivals[clip.name][-1] - clip.start) / (clip.patches * patch_seconds)
        for clip in result.clips
    ]
    heard = [playback(result.arrivals[clip.name], patch_seconds) for clip in result.clips]
    wall = max(arrivals[-1] for arrivals in result.arrivals.values())
    audio = sum(clip.patches for clip in result.clips) * patch_seconds
    return {
        "streams": len(result.clips),
        "patches": max(clip.patches for clip in result.clips),
        "rows_of_fullest_step": fullest,
        "step_ms_p50": 1e3 * percentile(full, 0.5),
        "step_ms_p99": 1e3 * percentile(full, 0.99),
        "longest_step_ms": 1e3 * max(seconds for seconds, _ in result.steps),
        "first_audio_ms_p50": 1e3 * percentile(first, 0.5),
        "first_audio_ms_p99": 1e3 * percentile(first, 0.99),
        "real_time_factor_p50": percentile(factors, 0.5),
        "real_time_factor_p99": percentile(factors, 0.99),
        "audio_seconds_per_second": audio / wall,
        "underruns": sum(count for count, _ in heard),
        "streams_with_underruns": sum(count > 0 for count, _ in heard),
        "silence_seconds": sum(silence for _, silence in heard),
    }


def one_after_the_other(engine: Engine, kind: str, rounds: int) -> list[float]:
    """First audio, in seconds, of `rounds` clips that each have the engine to themselves."""
    first = []
    for i in range(rounds):
        clip = Clip(f"alone-{i}", f"{i} {TEXTS[kind][0]}", 2)
        first.append(run(engine, [clip]).arrivals[clip.name][0])
    return first


def concurrency(engine: Engine, kind: str, streams: int, patches: int | None = None) -> dict[str, Any]:
    """Figures of `streams` clips that all start at once, after a run that compiles what is not yet."""
    run(engine, clips(kind, streams, 3))
    figures = summary(run(engine, clips(kind, streams, patches)), engine.patch_seconds)
    if streams == 1:
        first = one_after_the_other(engine, kind, 20)
        figures["first_audio_ms_p50"] = 1e3 * percentile(first, 0.5)
        figures["first_audio_ms_p99"] = 1e3 * percentile(first, 0.99)
    return {"text": kind, **figures}


def line(figures: dict[str, Any]) -> str:
    """One printed row of `concurrency`."""
    return (
        f"{figures['streams']:>4} x {figures['text']:5}  step {figures['step_ms_p50']:8.2f} "
        f"/{figures['step_ms_p99']:8.2f} ms  first audio {figures['first_audio_ms_p50']:8.1f} "
        f"/{figures['first_audio_ms_p99']:8.1f} ms  RTF {figures['real_time_factor_p50']:.4f}  "
        f"{figures['audio_seconds_per_second']:8.1f} audio s/s  underruns {figures['underruns']}"
    )


def most_streams(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The most streams for which `holds`, between `low` and `high`, to about two per cent; 0 for none.

    It goes up in doublings, then halves the interval; who holds at n is taken to hold below n too.
    """
    best, failed, streams = 0, high + 1, min(low, high)
    while True:
        if holds(streams):
            best = streams
            if best == high:
                return best
        else:
            failed = streams
        if failed <= high or best * 2 > high:
            streams = (best + failed) // 2 if failed - best > max(1, best // 50) else best
        else:
            streams = best * 2
        if streams in (best, 0):
            return best
