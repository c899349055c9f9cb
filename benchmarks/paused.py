"""What it costs to bring back a paused clip of a minute, against computing it again.

    python -m benchmarks.paused [--model bundled] [--device cpu] [--seconds 60] [--rounds 5] [--save NAME]

A clip speaks for `--seconds`, is paused, and loses its blocks to others. Then it is resumed, once with a
second tier of the KV cache on the host and once without, in turns, and the time to its next patch is taken.
What a patch takes anyway is taken off, as the clip's own median step. That the clip goes on with the same
bits is checked. Prints JSON; --save NAME keeps it in benchmarks/results/paused.json under that name.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cpu import TEXT
from models.speech import SpeechOutput, SpeechRequest
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint, resolve_model
from models.voxcpm.engine import EngineOptions, VoxCPMEngine

RESULTS = Path(__file__).parent / "results" / "paused.json"
HOST_GIB = 1.0


class Pauser:
    """One clip of an engine, which is paused and pushed off the device time and again."""

    def __init__(
        self, checkpoint: Checkpoint, seconds: float, host_gib: float, rounds: int, solver_steps: int | None
    ) -> None:
        patches = int(seconds / checkpoint.config.patch_seconds)
        words = len(checkpoint.tokenizer.encode(TEXT)) + 8
        blocks = -(-(patches + words + rounds + 64) // 16)
        self.voice_patches = 16 * blocks - words
        self.engine = VoxCPMEngine(
            checkpoint,
            EngineOptions(
                max_num_seqs=2, kv_blocks=blocks, kv_host_gib=host_gib, kv_bring_back="always",
                silence_guard=False, ratio_cap=False,
            ),
        )  # fmt: skip
        self.patches, self.pushers, self.solver_steps = patches, 0, solver_steps
        self.latents: list[np.ndarray] = []
        self.step_seconds: list[float] = []
        end = (patches + rounds + 1) * checkpoint.config.patch_seconds
        self.engine.add_request(
            SpeechRequest(
                "clip", TEXT, seed=1, min_seconds=end, max_seconds=end, inference_timesteps=solver_steps
            )
        )
        while len(self.latents) < patches:
            began = time.perf_counter()
            self._take(self.engine.step())
            self.step_seconds.append(time.perf_counter() - began)

    def push_out(self) -> None:
        """Pauses the clip and lets another one take all blocks."""
        self.engine.pause("clip")
        self.pushers += 1
        shape = (self.voice_patches, self.engine.config.patch_size, self.engine.config.feat_dim)
        noise = np.random.default_rng(self.pushers).standard_normal(shape).astype(np.float32)
        self.engine.add_request(
            SpeechRequest(
                f"pusher {self.pushers}", TEXT, seed=self.pushers, reference_latents=noise,
                inference_timesteps=self.solver_steps, max_seconds=self.engine.config.patch_seconds,
            )
        )  # fmt: skip
        while self.engine.has_unfinished():
            self._take(self.engine.step())

    def seconds_to_next_patch(self) -> float:
        """From resuming to the patch, of which others are not made meanwhile."""
        wanted = len(self.latents) + 1
        began = time.perf_counter()
        self.engine.resume("clip")
        while len(self.latents) < wanted:
            self._take(self.engine.step())
        return time.perf_counter() - began

    def _take(self, outputs: Any) -> None:
        for output in outputs:
            if output.finish_reason == "error":
                raise RuntimeError(output.error)
            self._keep(output)

    def _keep(self, output: SpeechOutput) -> None:
        if output.request_id == "clip":
            self.latents.append(output.latents)


def measure(checkpoint: Checkpoint, seconds: float, rounds: int, solver_steps: int | None) -> dict[str, Any]:
    """Milliseconds; ratios are of medians."""
    sides = {
        "brought back": Pauser(checkpoint, seconds, HOST_GIB, rounds, solver_steps),
        "computed": Pauser(checkpoint, seconds, 0.0, rounds, solver_steps),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            side.push_out()
            times[name].append(side.seconds_to_next_patch())
    step = statistics.median(sides["computed"].step_seconds[-100:])
    back, computed = (statistics.median(found) for found in times.values())
    tier = sides["brought back"].engine.cache_figures
    return {
        "clip_seconds": seconds,
        "patches": sides["computed"].patches,
        "step_ms": round(1e3 * step, 2),
        "brought_back_ms": round(1e3 * back, 2),
        "computed_ms": round(1e3 * computed, 2),
        "times_faster_to_the_patch": round(computed / back, 1),
        "times_faster_before_the_patch": round((computed - step) / max(back - step, 1e-6), 1),
        "mib_a_clip": round(tier.brought_bytes / rounds / (1 << 20), 2),
        "same_bits": _same_bits(checkpoint, sides["brought back"], rounds),
    }


def _same_bits(checkpoint: Checkpoint, side: Pauser, rounds: int) -> bool:
    """Whether the patches after each pause are those of a clip that was never paused."""
    seconds = side.patches * checkpoint.config.patch_seconds
    plain = Pauser(checkpoint, seconds, 0.0, rounds, side.solver_steps)
    while len(plain.latents) < len(side.latents):
        plain._take(plain.engine.step())
    return bool(np.array_equal(np.stack(plain.latents), np.stack(side.latents)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--solver-steps", type=int, help="of a patch; a GPU has recorded those of the default"
    )
    parser.add_argument("--save", metavar="NAME")
    options = parser.parse_args()
    checkpoint = load_checkpoint(resolve_model(options.model), options.device)
    solver_steps = options.solver_steps or (2 if options.device == "cpu" else None)
    found = measure(checkpoint, options.seconds, options.rounds, solver_steps)
    report = {
        "date": datetime.now(UTC).date().isoformat(), "model": options.model, "device": options.device,
        "machine": platform.processor() or platform.machine(), **found,
    }  # fmt: skip
    print(json.dumps(report, indent=2))
    if options.save:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps({**known, options.save: report}, indent=2) + "\n")


if __name__ == "__main__":
    main()
