"""What it costs to bring back a paused clip of a minute, against computing it again.

    python -m benchmarks.paused [--model bundled] [--device cpu] [--seconds 60] [--rounds 5] [--save NAME]
    python -m benchmarks.paused --model DIRECTORY --device cuda --beside 64

A clip speaks for `--seconds`, is paused, and loses its blocks to others. Then it is resumed, once with a
second tier of the KV cache on the host and once without, in turns, and the time to its next patch is taken.
That time holds a step that would have been computed anyway. So it is compared with a clip that kept its
blocks, which is paused and resumed in the same turns: what a return adds is the time beyond that one's,
until the patch, and in all, with `STEPS_AFTER` after the patch, since a GPU pays later for what was
launched ahead. With `--beside` that many other clips are spoken meanwhile, and the longest and the mean
step of a return are compared with those of the clip that kept its blocks, and with median steps, in which
the clip speaks among them and in which it does not. That the clip goes on with the same bits is checked
where it is alone.
Prints JSON; --save NAME keeps it in benchmarks/results/paused.json under that name.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.cpu import TEXT
from benchmarks.shared.results import keep, kept
from engine.sequence import Sequence
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint, resolve_model
from models.voxcpm.engine import EngineOptions, VoxCPMEngine

RESULTS = Path(__file__).parent / "results" / "paused.json"
HOST_GIB = 1.0
KEPT = "kept"
SOME_STEPS, ALONE, STEPS_AFTER = 12, 16, 2
"""Steps: of the others while a clip is away, of one clip alone that tell how long its own take, and those
after the patch of a return."""


class Return(NamedTuple):
    """Seconds of the steps from a resumption to the patch, and of those after it."""

    to_patch: list[float]
    after: list[float]

    @property
    def steps(self) -> list[float]:
        """All of them."""
        return self.to_patch + self.after

    def beyond(self, plain: float) -> float:
        """Seconds in all beyond as many plain steps."""
        return sum(self.steps) - plain * len(self.steps)


class Pauser:
    """One clip of an engine, which is paused and pushed off the device time and again.

    Args:
        beside: how many other clips are spoken from when it has said what it has to.
        solver_steps: of a patch; None: those of the checkpoint, which are recorded on a GPU.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        seconds: float,
        host_gib: float,
        rounds: int,
        solver_steps: int | None,
        beside: int = 0,
    ) -> None:
        self.patches = int(seconds / checkpoint.config.patch_seconds)
        words = len(checkpoint.tokenizer.encode(TEXT)) + 8
        others = (rounds + 1) * 4 * SOME_STEPS + 64
        blocks = -(-(self.patches + words + others) // 16) + beside * -(-(words + others) // 16)
        self.solver_steps, self.pushers = solver_steps, 0
        self.engine = VoxCPMEngine(
            checkpoint,
            EngineOptions(
                max_num_seqs=beside + 2, kv_blocks=blocks, kv_host_gib=host_gib, kv_bring_back="always",
                silence_guard=False, ratio_cap=False,
            ),
        )  # fmt: skip
        self.latents: list[np.ndarray] = []
        self._speak("clip", self.patches + others)
        while len(self.latents) < self.patches:
            self.step()
        self.own_step = statistics.median(self.step() for _ in range(ALONE))
        self.patches += ALONE
        for number in range(beside):
            self._speak(str(number), others)
        for _ in range(2 * ALONE):
            self.step()

    def step(self) -> float:
        """Seconds that a step took."""
        began = time.perf_counter()
        for output in self.engine.step():
            if output.finish_reason == "error":
                raise RuntimeError(output.error)
            if output.request_id == "clip":
                self.latents.append(output.latents)
        return time.perf_counter() - began

    def some_steps(self) -> list[float]:
        """Their seconds, of whoever speaks."""
        return [self.step() for _ in range(SOME_STEPS)] if self.engine.has_unfinished() else []

    def rest(self) -> Return:
        """Pauses the clip, which keeps its blocks, and resumes it after some steps of the others."""
        self.engine.pause("clip")
        self.some_steps()
        return self.resume()

    def push_out(self) -> list[float]:
        """Pauses the clip and lets its blocks be taken. Seconds of some steps of the others."""
        self.engine.pause("clip")
        scheduler = self.engine._llm.scheduler
        manager, clip = scheduler.block_manager, scheduler.get("clip")
        manager.free(clip, returns=True)
        self.pushers += 1
        size = manager.num_free_blocks * manager.block_size
        pusher = Sequence(f"pusher {self.pushers}", [self.pushers] * size, 1)
        if not manager.allocate(pusher):
            raise RuntimeError("the free blocks cannot be taken")
        manager.step_begins()
        manager.free(pusher, reusable=False)
        return self.some_steps()

    def resume(self) -> Return:
        """The pause outlasts what was launched."""
        wanted, steps = len(self.latents) + 1, []
        if self.engine.device != "cpu" and not self.engine.has_unfinished():
            torch.cuda.synchronize(self.engine.device)
        self.engine.resume("clip")
        while len(self.latents) < wanted:
            steps.append(self.step())
        return Return(steps, [self.step() for _ in range(STEPS_AFTER)])

    def _speak(self, name: str, patches: int) -> None:
        end = patches * self.engine.config.patch_seconds
        self.engine.add_request(
            SpeechRequest(
                name, TEXT, seed=1 + len(name), min_seconds=end, max_seconds=end,
                inference_timesteps=self.solver_steps,
            )
        )  # fmt: skip


def measure(checkpoint: Checkpoint, args: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds; ratios are of medians."""
    solver_steps = args.solver_steps or (2 if args.device == "cpu" else None)
    sides = {
        name: Pauser(checkpoint, args.seconds, gib, args.rounds, solver_steps, args.beside)
        for name, gib in (("brought back", HOST_GIB), ("computed", 0.0))
    }
    returns: dict[str, list[Return]] = {name: [] for name in (*sides, KEPT)}
    usual: list[float] = []
    together: list[float] = []
    for _ in range(args.rounds):
        for name, side in sides.items():
            if args.beside:
                together += side.some_steps()
            usual += side.push_out()
            returns[name].append(side.resume())
            returns[KEPT].append(side.rest())
    side = sides["brought back"]
    plain = statistics.median(together) if together else side.own_step
    back, computed = (_median(returns[name], lambda one: sum(one.to_patch)) for name in sides)
    found = {
        "clip_seconds": args.seconds,
        "beside": args.beside,
        "rounds": args.rounds,
        "step_ms": round(1e3 * side.own_step, 2),
        "brought_back_ms": round(1e3 * back, 2),
        "computed_ms": round(1e3 * computed, 2),
        "times_faster_to_the_patch": round(computed / back, 1),
        **_without_the_patch(plain, back, computed),
        "mib_a_clip": round(side.engine.cache_figures.brought_bytes / args.rounds / (1 << 20), 2),
        **_added(returns, plain),
    }
    if args.beside:
        found["step_of_the_others_ms"] = round(1e3 * statistics.median(usual), 2)
        found["step_of_all_ms"] = round(1e3 * plain, 2)
        found |= _growth(returns, {"": statistics.median(usual), "_beyond_all": plain})
    else:
        found["same_bits"] = _same_bits(checkpoint, side, args)
    return found


def _median(returns: list[Return], seconds: Callable[[Return], float]) -> float:
    return statistics.median(seconds(one) for one in returns)


def _without_the_patch(step: float, back: float, computed: float) -> dict[str, float]:
    """How much faster what goes before the patch is; on a GPU the patch may be there already."""
    if back <= step:
        return {}
    return {"times_faster_before_the_patch": round((computed - step) / (back - step), 1)}


def _added(returns: dict[str, list[Return]], plain: float) -> dict[str, float]:
    """What a return costs beyond one of a clip that kept its blocks."""
    to_patch = {name: _median(these, lambda one: sum(one.to_patch)) for name, these in returns.items()}
    in_all = {name: _median(these, lambda one: one.beyond(plain)) for name, these in returns.items()}
    found = {"kept_ms": round(1e3 * to_patch[KEPT], 2)}
    for name in returns:
        if name != KEPT:
            found[f"added_to_the_patch_ms, {name}"] = round(1e3 * (to_patch[name] - to_patch[KEPT]), 2)
            found[f"added_in_all_ms, {name}"] = round(1e3 * (in_all[name] - in_all[KEPT]), 2)
    return found


def _growth(returns: dict[str, list[Return]], medians: dict[str, float]) -> dict[str, float]:
    """Of the steps of a return, against those of a clip that kept its blocks, and against median steps."""
    worst = {name: _median(these, lambda one: max(one.steps)) for name, these in returns.items()}
    mean = {name: _median(these, lambda one: statistics.mean(one.steps)) for name, these in returns.items()}
    found = {}
    for name, these in returns.items():
        found[f"steps_to_the_patch, {name}"] = _median(these, lambda one: len(one.to_patch))
        found[f"step_meanwhile_ms, {name}"] = round(1e3 * worst[name], 2)
        found[f"mean_step_meanwhile_ms, {name}"] = round(1e3 * mean[name], 2)
        plain = {f"grows{whose}": (median, median) for whose, median in medians.items()}
        if name != KEPT:
            plain["grows_beyond_kept"] = worst[KEPT], mean[KEPT]
        for how, (longest, usual) in plain.items():
            found[f"step_{how}_by_percent, {name}"] = round(100 * (worst[name] / longest - 1), 1)
            found[f"mean_step_{how}_by_percent, {name}"] = round(100 * (mean[name] / usual - 1), 1)
    return found


def _same_bits(checkpoint: Checkpoint, side: Pauser, args: argparse.Namespace) -> bool:
    """Whether the patches after each pause are those of a clip that was never paused."""
    plain = Pauser(checkpoint, args.seconds, 0.0, args.rounds, side.solver_steps)
    while len(plain.latents) < len(side.latents):
        plain.step()
    return bool(np.array_equal(np.stack(plain.latents), np.stack(side.latents[: len(plain.latents)])))


def _machine(device: str) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    return platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beside", type=int, default=0, help="other clips that are spoken meanwhile")
    parser.add_argument(
        "--solver-steps", type=int, help="of a patch; a GPU has recorded those of the default"
    )
    parser.add_argument("--save", metavar="NAME")
    options = parser.parse_args()
    checkpoint = load_checkpoint(resolve_model(options.model), options.device)
    found = measure(checkpoint, options)
    report = {
        "date": datetime.now(UTC).date().isoformat(), "model": options.model, "device": options.device,
        "machine": _machine(options.device), **found,
    }  # fmt: skip
    print(json.dumps(report, indent=2))
    if options.save:
        keep(RESULTS, kept(RESULTS) | {options.save: report}, indent=2)


if __name__ == "__main__":
    main()
