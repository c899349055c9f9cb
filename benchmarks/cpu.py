"""Our engine against the published package on a CPU: same checkpoint, same text, one run, fp32.

    python -m benchmarks.cpu [--model bundled] [--seconds 4] [--rounds 3] [--json FILE]

Both sides speak the same number of patches, with the same steps and guidance, in turns, so that a noisy
machine disturbs both. The published package has no batching: eight streams there are eight clips one
after the other. Beside the times stand the arithmetic of a patch and the machine's measured rate for
matrix products, which together are the floor.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.shared.published import load_published
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import load_checkpoint, resolve_model
from models.voxcpm.config import TransformerConfig, VoxCPMConfig
from models.voxcpm.engine import EngineOptions, VoxCPMEngine

TEXT = "The quick brown fox jumps over the lazy dog, and then it takes a well earned rest in the sun."
STEPS, CFG_VALUE = 10, 2.0


def our_seconds(engine: VoxCPMEngine, streams: int, patches: int) -> tuple[float, float]:
    """(wall seconds, seconds to the first patch of the first stream) of `streams` concurrent clips."""
    seconds = patches * engine.config.patch_seconds
    for i in range(streams):
        engine.add_request(
            SpeechRequest(
                f"{i}", TEXT, seed=i, cfg_value=CFG_VALUE, inference_timesteps=STEPS,
                min_seconds=seconds, max_seconds=seconds,
            )
        )  # fmt: skip
    began, first = time.perf_counter(), 0.0
    while engine.has_unfinished():
        if engine.step() and not first:
            first = time.perf_counter() - began
    return time.perf_counter() - began, first


def published_seconds(model: Any, streams: int, patches: int) -> tuple[float, float]:
    """The same work by the published package: clip after clip, streaming decode included."""
    began, first = time.perf_counter(), 0.0
    for _ in range(streams):
        with contextlib.redirect_stderr(io.StringIO()):
            clip = model._generate(
                TEXT, streaming=True, min_len=patches, max_len=patches, inference_timesteps=STEPS,
                cfg_value=CFG_VALUE,
            )  # fmt: skip
            for _ in clip:
                first = first or time.perf_counter() - began
    return time.perf_counter() - began, first


def transformer_flop(config: TransformerConfig, rows: int) -> int:
    """Operations of the matrix products of one stack over `rows` tokens; a multiply-add is two."""
    heads = config.num_attention_heads + 2 * config.num_key_value_heads
    attention = config.hidden_size * config.head_dim * (heads + config.num_attention_heads)
    mlp = 3 * config.hidden_size * config.intermediate_size
    return 2 * rows * config.num_hidden_layers * (attention + mlp)


def vae_flop(config: VoxCPMConfig) -> int:
    """Operations of the audio decoder per patch, depthwise convolutions neglected."""
    vae, frames = config.audio_vae_config, config.patch_size
    total, dim = 2 * 7 * vae.latent_dim * vae.decoder_dim * frames, vae.decoder_dim
    for stride in vae.decoder_rates:
        total += 2 * 2 * stride * dim * (dim // 2) * frames
        dim, frames = dim // 2, frames * stride
        total += 3 * 2 * dim * dim * (1 if vae.depthwise else 8) * frames
    return total


def flop_per_patch(config: VoxCPMConfig) -> dict[str, int]:
    dit_rows = 2 * (1 + 2 * config.patch_size + (2 if config.two_condition_tokens else 0))
    return {
        "language_models": transformer_flop(config.lm_config, 1)
        + transformer_flop(config.residual_transformer(), 1),
        "local_encoder": transformer_flop(config.encoder_transformer(), 1 + config.patch_size),
        "dit": (STEPS - 1) * transformer_flop(config.dit_transformer(), dit_rows),
        "vae": vae_flop(config),
    }


def gemm_rate(rows: int, size: int = 768) -> float:
    """Measured operations per second of fp32 products [rows, size] x [size, size]."""
    x, w = torch.randn(rows, size), torch.randn(size, size)
    best = min(_timed(lambda: [torch.mm(x, w) for _ in range(20)]) for _ in range(10))
    return 20 * 2 * rows * size * size / best


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure(model: str, seconds: float, rounds: int) -> dict[str, Any]:
    directory: Path = resolve_model(model)
    checkpoint = load_checkpoint(directory, "cpu")
    options = EngineOptions(
        max_num_seqs=8,
        silence_guard=False,
        ratio_cap=False,
        enable_prefix_caching=False,
        threads=torch.get_num_threads(),
    )
    engine, published = VoxCPMEngine(checkpoint, options), load_published(directory)
    config = checkpoint.config
    patches = round(seconds / config.patch_seconds)
    our_seconds(engine, 2, 4)
    published_seconds(published, 1, 4)
    results: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "cores": torch.get_num_threads(),
        "torch": torch.__version__,
        "patches": patches,
        "patch_seconds": config.patch_seconds,
        "steps": STEPS,
        "cfg_value": CFG_VALUE,
        "gflop_per_patch": {part: flop / 1e9 for part, flop in flop_per_patch(config).items()},
        "gemm_gflops": {str(rows): gemm_rate(rows) / 1e9 for rows in (14, 112)},
    }
    for streams in (1, 8):
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(our_seconds(engine, streams, patches))
            theirs.append(published_seconds(published, streams, patches))
        audio = streams * patches * config.patch_seconds
        results[f"streams_{streams}"] = _summary(ours, theirs, audio)
    return results


def _summary(
    ours: list[tuple[float, float]], theirs: list[tuple[float, float]], audio: float
) -> dict[str, float]:
    mine, other = (statistics.median(wall for wall, _ in runs) for runs in (ours, theirs))
    return {
        "our_rtf": mine / audio,
        "published_rtf": other / audio,
        "speedup": other / mine,
        "our_first_audio_ms": 1e3 * statistics.median(first for _, first in ours),
        "published_first_audio_ms": 1e3 * statistics.median(first for _, first in theirs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--seconds", type=float, default=4.0, help="audio seconds per clip")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="0 leaves PyTorch's default")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    results = measure(arguments.model, arguments.seconds, arguments.rounds)
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
