"""Where a step's time goes: the kernels of some steps by name, and how long the device had nothing to do.

The figures come from the trace that torch.profiler writes, kernels within CUDA graphs included. On the CPU
the operators take the place of the kernels.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu.engines.ours import Ours
from benchmarks.gpu.work import clips

DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
TOP = 30
Event = dict[str, Any]


def profiled_steps(ours: Ours, streams: int, steps: int, on_device: bool) -> str:
    """A table for `steps` steps in which all of `streams` clips are served and none begins or ends."""
    work = clips("short", streams, 3 * steps + 16)
    arrived = dict.fromkeys((clip.name for clip in work), 0)
    for clip in work:
        ours.add(clip)
    while min(arrived.values()) < 2:
        for name in ours.step():
            arrived[name] += 1
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if on_device else [])
    if on_device:
        torch.cuda.synchronize()
    began = time.perf_counter()
    with profile(activities=activities) as recorder:
        for _ in range(steps):
            ours.step()
        if on_device:
            torch.cuda.synchronize()
        seconds = time.perf_counter() - began
    for clip in work:
        ours.engine.cancel(clip.name)
    while ours.busy():
        ours.step()
    events = recorded_events(recorder, DEVICE_CATEGORIES if on_device else ("cpu_op",))
    return table(events, steps, seconds, f"{streams} streams")


def recorded_events(recorder: profile, categories: Iterable[str]) -> list[Event]:
    """Of the trace of these categories, those that took time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        recorder.export_chrome_trace(str(file))
        events = json.loads(file.read_text())["traceEvents"]
    return [event for event in events if event.get("cat") in set(categories) and "dur" in event]


def table(events: list[Event], steps: int, seconds: float, title: str) -> str:
    """Text: time per step, how much of it the device worked, and the names that took most of it."""
    busy, span = busy_microseconds(events)
    by_name: dict[str, tuple[float, int]] = {}
    for event in events:
        total, count = by_name.get(event["name"], (0.0, 0))
        by_name[event["name"]] = total + event["dur"], count + 1
    lines = [
        f"{title}: {1e3 * seconds / steps:.2f} ms per step as the profiler slows it, "
        f"{len(events) / steps:.0f} kernels and copies per step",
        f"device busy {busy / steps / 1e3:.2f} ms of {span / steps / 1e3:.2f} ms per step "
        f"({busy / span if span else 0:.1%}), the rest are gaps",
        f"{'us/step':>9} {'share':>6} {'calls':>6} {'us each':>8}  name",
    ]
    for name, (total, count) in sorted(by_name.items(), key=lambda item: -item[1][0])[:TOP]:
        lines.append(
            f"{total / steps:9.1f} {total / busy if busy else 0:6.1%} {count / steps:6.0f} "
            f"{total / count:8.2f}  {name[:120]}"
        )
    return "\n".join(lines) + "\n"


def busy_microseconds(events: list[Event]) -> tuple[float, float]:
    """(time in which at least one event ran, time from the first's begin to the last's end)."""
    busy = end = 0.0
    spans = sorted((float(event["ts"]), float(event["ts"]) + float(event["dur"])) for event in events)
    for begin, finish in spans:
        busy += max(0.0, finish - max(begin, end))
        end = max(end, finish)
    return busy, end - spans[0][0] if spans else 0.0
