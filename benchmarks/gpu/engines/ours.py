"""Our engine as `benchmarks.gpu.work.Engine`, and what only it is asked: start-up, graphs, most streams."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.gpu.work import CFG_VALUE, TIMESTEPS, Clip, clips, most_streams, run, summary
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine

OPTIONS = EngineOptions(max_model_len=4096, silence_guard=False, ratio_cap=False, enable_prefix_caching=False)
REAL_TIME_PATCHES, RAMP_SECONDS = 100, 8.0


class Ours:
    """A VoxCPM engine that serves forced lengths."""

    def __init__(self, checkpoint: Checkpoint, options: EngineOptions) -> None:
        limit = min(options.max_model_len or checkpoint.config.max_length, checkpoint.config.max_length)
        self.engine = VoxCPMEngine(
            checkpoint, dataclasses.replace(options, max_model_len=limit), progress=say
        )
        self.patch_seconds = checkpoint.config.patch_seconds

    @property
    def has_programs(self) -> bool:
        """Whether steps run as programs at fixed addresses; on CUDA those are recorded graphs."""
        return self.engine._runner._programs is not None

    def add(self, clip: Clip) -> None:
        self.engine.add_request(request(clip, self.patch_seconds))

    def step(self) -> list[str]:
        outputs = self.engine.step()
        for output in outputs:
            if output.finish_reason == "error":
                raise RuntimeError(f"{output.request_id}: {output.error}")
        return [output.request_id for output in outputs if output.audio.size]

    def busy(self) -> bool:
        return self.engine.has_unfinished()


def request(clip: Clip, patch_seconds: float, **changes: Any) -> SpeechRequest:
    """A clip of forced length, with the steps and the guidance that everybody is measured with."""
    seconds = clip.patches * patch_seconds
    values = {"min_seconds": seconds, "max_seconds": seconds, "seed": int(clip.text.split()[0])}
    return SpeechRequest(
        clip.name, clip.text, cfg_value=CFG_VALUE, inference_timesteps=TIMESTEPS, **(values | changes)
    )


def say(stage: str, share: float) -> None:
    """Progress of a start-up, one line that writes over itself."""
    print(f"\r{stage} {share:.0%}      ", end="" if share < 0.9 else "\n", flush=True)


@contextmanager
def engine_of(checkpoint: Checkpoint, options: EngineOptions) -> Iterator[Ours]:
    """An engine whose memory is free again afterwards."""
    ours = Ours(checkpoint, options)
    try:
        yield ours
    finally:
        ours.engine.close()
        del ours.engine  # whoever still holds `ours` holds no memory of the device
        free_memory()


def free_memory() -> None:
    """Give back to the device what nobody holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def real_time(checkpoint: Checkpoint, options: EngineOptions, low: int, patches: int, ramp: float) -> Any:
    """The most streams that run without an underrun, and every number that was tried.

    Streams start over `ramp` seconds and then all run at once; the engine is told to keep its steps within
    the duration of a patch.
    """
    options = dataclasses.replace(options, max_step_seconds=checkpoint.config.patch_seconds)
    tried = []
    with engine_of(checkpoint, options) as ours:
        run(ours, clips("short", options.max_num_seqs, 3))

        def holds(streams: int) -> bool:
            figures = summary(run(ours, clips("short", streams, patches, ramp)), ours.patch_seconds)
            tried.append(figures)
            print(
                f"{streams:>4} streams: {figures['underruns']} underruns of "
                f"{figures['streams_with_underruns']} streams, step {figures['step_ms_p50']:.1f} ms, "
                f"longest {figures['longest_step_ms']:.1f} ms",
                flush=True,
            )
            return not figures["underruns"]

        most = most_streams(holds, low, options.max_num_seqs)
    return {"most_streams": most, "pre_roll_ms": 80, "ramp_seconds": ramp, "tried": tried}


def start_up(directory: Path, device: str, options: EngineOptions) -> dict[str, Any]:
    """Seconds from the files, in the page cache, to an engine that has spoken once; run in a new process."""
    for file in directory.iterdir():
        with file.open("rb") as content:
            while content.read(1 << 24):
                pass
    before, stages = process_age(), {}
    began = time.perf_counter()
    checkpoint = load_checkpoint(directory, device, dtype=torch.bfloat16)
    stages["load"] = time.perf_counter() - began
    ours = Ours(checkpoint, options)
    stages["engine and graphs"] = time.perf_counter() - began - stages["load"]
    ours.engine.warm_up()
    seconds = time.perf_counter() - began
    stages["warm-up"] = seconds - sum(stages.values())
    return {
        "seconds_to_ready": seconds, "stages": stages, "seconds_of_imports_and_page_cache": before,
        "max_num_seqs": options.max_num_seqs, "has_programs": ours.has_programs,
    }  # fmt: skip


def process_age() -> float:
    """Seconds since this process was started."""
    fields = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def with_undecided_stops(checkpoint: Checkpoint) -> Checkpoint:
    """The same checkpoint with a stop head that changes its mind from patch to patch."""
    head, bias = checkpoint.model.stop_head.weight, checkpoint.model.stop_proj.bias
    generator = torch.Generator().manual_seed(1)
    with torch.inference_mode():
        head.copy_(torch.randn(head.shape, generator=generator))
        bias.zero_()
    return checkpoint


def graphs_against_eager(
    checkpoint: Checkpoint,
    options: EngineOptions,
    sizes: list[int],
    patches: int,
    exact: Checkpoint | None = None,
) -> dict[str, Any]:
    """The same clips by recorded programs, by the same programs unrecorded, and without programs.

    Recorded and unrecorded programs must agree in every bit. Without programs nothing is padded, so sums
    round otherwise: patches are compared before such differences have fed on themselves, up to the second.

    Args:
        exact: the same weights in fp32; how far the type of `checkpoint` is from it is what rounding means.
    """
    for weights in filter(None, (checkpoint, exact)):
        with_undecided_stops(weights)
    if options.attention_backend == "auto":  # which might not measure the same twice
        options = dataclasses.replace(options, attention_backend="triton")
    recorded = "auto" if checkpoint.device.type == "cuda" else "static"
    spoken: dict[str, dict[int, dict[str, Spoken]]] = {}
    for graphs in (recorded, "static", "off"):
        if graphs not in spoken:
            with engine_of(checkpoint, dataclasses.replace(options, graphs=graphs)) as ours:
                spoken[graphs] = {size: speak(ours, size, patches) for size in sizes}
    pairs = [("unrecorded", recorded, "static"), ("free", recorded, "off")]
    if exact is not None:
        with engine_of(exact, dataclasses.replace(options, graphs="off")) as ours:
            spoken["exact"] = {size: speak(ours, size, patches) for size in sizes}
        pairs += [("rounding", "off", "exact"), ("recorded_rounding", recorded, "exact")]
    rows = [
        {"streams": size} | compared(pairs, {name: clips[size] for name, clips in spoken.items()})
        for size in sizes
    ]
    worst = {key: max(row[key] for row in rows) for key in rows[0] if key != "streams"}
    print(json.dumps(worst), flush=True)
    return {"worst": worst, "sizes": rows}


def compared(pairs: list[tuple[str, str, str]], spoken: dict[str, dict[str, Spoken]]) -> dict[str, float]:
    """Figures of `differences` for (name of the pair, one, other), each under its pair's name."""
    return {
        f"{name}_{figure}": value
        for name, one, other in pairs
        for figure, value in differences(spoken[one], spoken[other]).items()
    }


@dataclass
class Spoken:
    """Latents of each patch, and why the clip ended."""

    latents: list[np.ndarray] = field(default_factory=list)
    finish_reason: str | None = None


def speak(ours: Ours, streams: int, patches: int) -> dict[str, Spoken]:
    """Clips that the stop head may end, by name."""
    spoken: dict[str, Spoken] = {}
    for clip in clips("short", streams, patches):
        ours.engine.add_request(request(clip, ours.patch_seconds, min_seconds=None))
        spoken[clip.name] = Spoken()
    while ours.busy():
        for output in ours.engine.step():
            clip_so_far = spoken[output.request_id]
            if output.audio.size:
                clip_so_far.latents.append(output.latents)
            clip_so_far.finish_reason = output.finish_reason or clip_so_far.finish_reason
    return spoken


def differences(mine: dict[str, Spoken], other: dict[str, Spoken]) -> dict[str, float]:
    """Clips that ended at another patch or otherwise, and the largest relative errors of latents."""
    endings = 0
    errors = {"first_patch": 0.0, "second_patch": 0.0, "all_patches": 0.0}
    for name, clip in mine.items():
        its = other[name]
        endings += (len(clip.latents), clip.finish_reason) != (len(its.latents), its.finish_reason)
        found = [relative(a, b) for a, b in zip(clip.latents, its.latents, strict=False)]
        for key, values in (("first_patch", found[:1]), ("second_patch", found[1:2]), ("all_patches", found)):
            errors[key] = max([errors[key], *values])
    return {"other_endings": endings, **errors}


def relative(actual: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference over the largest expected magnitude."""
    return float(np.abs(actual - expected).max() / max(1e-12, np.abs(expected).max()))
