"""What a prompt and a resumed clip cost before their first new patch, alone on a GPU.

    python -m benchmarks.gpu.resume [--shape voxcpm2] [--device cuda:1] [--save NAME]
    python -m benchmarks.gpu.resume --shape tiny --device cpu        does it work

Patches of a resumed clip are computed again one by one, by the programs that computed them first: that is
timed per patch, as the difference between resuming after many patches and after few. A prompt is timed to the
first patch, for several lengths. Prints JSON, medians of some runs; --save NAME keeps it in
benchmarks/results/gpu_resume.json under that name.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.gpu.checkpoints import SHAPES, make_checkpoint
from benchmarks.gpu.device import device_of
from benchmarks.shared.results import keep, kept
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine

RESULTS = Path(__file__).parents[1] / "results" / "gpu_resume.json"
WORDS = {"tiny": (4, 10), "": (20, 100, 280, 450, 900)}
"""Of the prompts; the tokenizer of random checkpoints gives about two tokens to a word."""
PATCHES = {"tiny": (2, 6), "": (20, 220)}
RUNS = {"tiny": 1, "": 7}


def engine_of(shape: str, device: torch.device) -> VoxCPMEngine:
    cpu = device.type == "cpu"
    options = EngineOptions(
        max_num_seqs=16 if not cpu else 2, max_model_len=2304 if not cpu else 128, silence_guard=False,
        ratio_cap=False, max_text_characters=8192, enable_prefix_caching=False,
        attention_backend="auto" if cpu else "triton",
    )  # fmt: skip
    return VoxCPMEngine(load_checkpoint(make_checkpoint(shape), str(device)), options)


def seconds_to_first(engine: VoxCPMEngine, request: SpeechRequest) -> float:
    """From the request to its first patch, which is its last one too."""
    began = time.perf_counter()
    engine.add_request(request)
    while engine.has_unfinished():
        for output in engine.step():
            if output.finish_reason == "error":
                raise RuntimeError(output.error)
    return time.perf_counter() - began


def measure(engine: VoxCPMEngine, shape: str) -> dict[str, Any]:
    """Milliseconds, by prompt and per resumed patch."""
    kind = shape if shape in RUNS else ""
    size = (engine.config.patch_size, engine.config.feat_dim)
    patch_seconds = engine.config.patch_seconds

    def median(text: str, patches: int) -> float:
        times = []
        for seed in range(RUNS[kind] + 1):
            latents = np.random.default_rng(seed).standard_normal((patches, *size)).astype(np.float32)
            seconds = (patches + 1) * patch_seconds
            request = SpeechRequest(
                f"{patches} {seed}", text, seed=seed, min_seconds=seconds, max_seconds=seconds,
                inference_timesteps=10, resume_latents=latents if patches else None,
            )  # fmt: skip
            times.append(1e3 * seconds_to_first(engine, request))
        return statistics.median(times[1:])  # the first one warms up

    prompts = {}
    for words in WORDS[kind]:
        text = "hello " * words
        positions = len(engine.checkpoint.tokenizer.encode(text)) + 1
        prompts[str(positions)] = round(median(text, 0), 3)
    few, many = PATCHES[kind]
    text = "hello " * 10
    resumed = (median(text, many) - median(text, few)) / (many - few)
    return {"first_patch_ms_by_positions": prompts, "resumed_patch_ms": round(resumed, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", default="voxcpm2", choices=SHAPES)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--save", metavar="NAME", help="keep the result under this name")
    options = parser.parse_args()
    device = device_of(options.device)
    found = measure(engine_of(options.shape, device), options.shape)
    if device.type == "cuda":
        found["device"] = torch.cuda.get_device_name(device)
    found |= {"torch": torch.__version__, "at": datetime.now(UTC).isoformat(timespec="seconds")}
    print(json.dumps(found, indent=2))
    if options.save:
        before = kept(RESULTS)
        keep(RESULTS, before | {options.shape: before.get(options.shape, {}) | {options.save: found}})


if __name__ == "__main__":
    main()
