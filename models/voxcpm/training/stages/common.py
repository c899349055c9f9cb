"""What the stages share: options, device, compilation with a fallback, learning rate, averages, clock."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from models.voxcpm.training.stages.progress import Progress
from models.voxcpm.training.stages.ranks import Ranks
from models.whole_files import replacing

LOOK_EVERY_STEPS = 25
PATIENCE_SECONDS = 60.0
"""How long past its deadline a stage still waits for what another one makes, rather than fail."""
SAVE_EVERY_SECONDS = 60.0
"""Time between two checkpoints of a stage, from which it goes on when it was cut."""


def stage_parser(description: str) -> argparse.ArgumentParser:
    """Options every stage takes; times are seconds since the epoch."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--work", type=Path, required=True, help="folder shared by all stages")
    parser.add_argument(
        "--deadline", type=float, required=True, help="when this stage must end (time.time())"
    )
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--recipe", choices=("voice", "tiny"), default="voice")
    parser.add_argument(
        "--init", type=Path, help="pieces or a checkpoint to go on from: checkpoint/warm_start.py"
    )
    return parser


def prepare_device(gpu: int, seed: int) -> torch.device:
    """The GPU asked for, or the CPU where there is none; TF32 on, random numbers seeded."""
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(seed)
    if not torch.cuda.is_available():
        return torch.device("cpu")
    torch.cuda.set_device(gpu)
    return torch.device("cuda", gpu)


def compiled(function: Callable, device: torch.device, dynamic: bool = False) -> Callable:
    """torch.compile on a GPU, for fixed shapes unless `dynamic`; the function itself elsewhere."""
    return torch.compile(function, dynamic=dynamic) if device.type == "cuda" else function


def compiled_if_it_works(
    function: Callable,
    trial: Callable[[Callable], None],
    device: torch.device,
    progress: Progress,
    dynamic: bool = False,
) -> Callable:
    """The compiled function, or the function itself where `trial` of the compiled one fails."""
    fast = compiled(function, device, dynamic)
    try:
        trial(fast)
    except Exception as error:  # whatever a compiler fails with, plain execution still trains
        progress.report(
            "warming",
            not_compiled=getattr(function, "__name__", type(function).__name__),
            error=repr(error)[:2000],
        )
        return function
    return fast


def cosine(progress: float, last: float = 0.05) -> float:
    """Half a cosine from 1 at progress 0 to `last` at 1."""
    return last + (1 - last) * 0.5 * (1 + math.cos(math.pi * min(max(progress, 0.0), 1.0)))


class StageClock:
    """How much of a stage's time is over, counting what earlier, interrupted runs of it spent."""

    def __init__(self, deadline: float, spent_before: float = 0.0) -> None:
        self.began, self._deadline, self._spent_before = time.time(), deadline, spent_before

    @property
    def seconds_left(self) -> float:
        return self._deadline - time.time()

    @property
    def elapsed(self) -> float:
        """Seconds since this run began."""
        return time.time() - self.began

    def pace(self, steps: int) -> dict[str, float]:
        """What a report says of speed, `steps` being those of this run."""
        return {"steps_per_second": steps / max(self.elapsed, 1e-9), "seconds_left": self.seconds_left}

    @property
    def spent(self) -> float:
        """Seconds of all runs together."""
        return self._spent_before + self.elapsed

    @property
    def done(self) -> float:
        """0 at the start, 1 at the deadline and after it."""
        return 1.0 if self.seconds_left <= 0 else self.spent / (self.spent + self.seconds_left)


class SharedClock:
    """The first rank's `done`, looked at every few steps, so that all ranks turn and end together."""

    def __init__(self, clock: StageClock, ranks: Ranks, device: torch.device) -> None:
        self._clock, self._ranks = clock, ranks
        self._every = LOOK_EVERY_STEPS if device.type == "cuda" else 1
        self.done = ranks.share(clock.done)

    def look(self, step: int) -> bool:
        """Call after every step; True when it looked, which costs a wait for the device."""
        if step % self._every:
            return False
        self.done = self._ranks.share(self._clock.done)
        return True


def warmup(step: int, steps: int) -> float:
    return min(1.0, (step + 1) / steps)


class MovingAverage:
    """Exponential moving average of a module's parameters, in fp32; young averages forget faster."""

    def __init__(self, module: nn.Module, decay: float) -> None:
        self._parameters = [p for _, p in module.named_parameters()]
        self.values = [p.detach().float().clone() for p in self._parameters]
        self._decay, self._updates = decay, 0

    @torch.no_grad()
    def update(self) -> None:
        self._updates += 1
        decay = min(self._decay, self._updates / (self._updates + 9))
        torch._foreach_lerp_(self.values, [p.float() for p in self._parameters], 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The module has the averaged parameters inside the context, its own again after it."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for parameter, value in zip(self._parameters, self.values, strict=True):
            kept = parameter.detach().float().clone()
            parameter.copy_(value)
            value.copy_(kept)

    def state_dict(self) -> dict[str, Any]:
        return {"values": self.values, "updates": self._updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._updates = state["updates"]
        for value, stored in zip(self.values, state["values"], strict=True):
            value.copy_(stored)


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """torch.save in one step, so that a cut run leaves the previous file whole."""
    with replacing(path) as partial, partial.open("wb") as file:
        torch.save(state, file)


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any] | None:
    """The stored state, or None where there is none."""
    return torch.load(path, map_location=device, weights_only=True) if path.exists() else None


def wait_for(
    path: Path, deadline: float, every_seconds: float = 1.0, meanwhile: Callable[[], None] | None = None
) -> None:
    """Return once `path` exists. Raises TimeoutError after `deadline`."""
    while not path.exists():
        if time.time() > deadline:
            raise TimeoutError(f"{path} did not appear in time")
        if meanwhile:
            meanwhile()
        time.sleep(every_seconds)


class RecentLosses:
    """Losses since the last report; they stay on the device until a mean is asked for."""

    def __init__(self) -> None:
        self._steps: list[dict[str, Tensor]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, **losses: Tensor) -> None:
        """Note the losses of one step."""
        self._steps.append({name: loss.detach() for name, loss in losses.items()})

    def mean(self, name: str, last: int = 0) -> float:
        """Mean of one loss over the last steps; over all of them unless `last` is given."""
        values = [step[name] for step in self._steps[-last:] if name in step]
        return torch.stack(values).mean().item()

    def take(self) -> dict[str, float]:
        """Means of the losses that the newest step has; forgets all steps."""
        means = {name: self.mean(name) for name in self._steps[-1]}
        self.clear()
        return means

    def clear(self) -> None:
        self._steps = []
