"""Windows for the autoscaler: minutes of steady traffic, and workers that answer decisions."""

from __future__ import annotations

from dataclasses import dataclass, field

from voxfleet.fleet.autoscaling.autoscaler import decide
from voxfleet.fleet.autoscaling.decision import Decision
from voxfleet.fleet.autoscaling.rules import Rules, WorkerKind
from voxfleet.fleet.autoscaling.window import KindNow, ModelNow, Sample, Window

NOW = 1_800_000_000.0  # a Friday, 08:00 UTC
STEP = 2.0
GPU = WorkerKind("gpu", "alpha", slots=8, audio_seconds_per_second=32.0, loading_seconds=40.0)
RULES = Rules((GPU,))


def steady(requests: int, length: float, used: float, minutes: float = 6.0, **last: float) -> list[Sample]:
    """`requests` each step, of `length` seconds of audio, with `used` slots; `last` changes the last one."""
    count = int(minutes * 60 / STEP)
    samples = [sample(NOW - STEP * (count - 1 - n), requests, length, used) for n in range(count)]
    if last:
        samples[-1] = sample(NOW, requests, length, used, **last)
    return samples


def sample(at: float, requests: int, length: float, used: float, **more: float) -> Sample:
    heard = more.pop("first_audios", requests)
    return Sample(at, STEP, requests, requests * length, used, first_audios=heard, **more)


def window(samples: list[Sample], *kinds: KindNow, model: str = "alpha", **more: float) -> Window:
    asked = [one.at for one in samples if one.requests]
    more.setdefault("last_request_at", asked[-1] if asked else float("-inf"))
    return Window(NOW, (ModelNow(model, samples, **more),), kinds)


@dataclass
class Loop:
    """One kind of workers that does what it is told, under demand that a test sets."""

    rules: Rules
    serving: int = 0
    loading: list[float] = field(default_factory=list)
    draining: list[float] = field(default_factory=list)
    now: float = NOW
    samples: list[Sample] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    last_served_at: float = float("-inf")

    def run(self, seconds: float, requests: int, length: float, drain_seconds: float = 6.0) -> None:
        """That many requests each step; those that find no slot wait, and are counted as such."""
        kind = self.rules.kinds[0]
        for _ in range(int(seconds / STEP)):
            self.now += STEP
            self._pass_time()
            slots = requests / STEP * length / (kind.audio_seconds_per_second / kind.slots)
            used = min(slots, self.serving * kind.slots)
            waiting = round(slots - used)
            self.samples.append(sample(self.now, requests, length, used, waiting=waiting))
            del self.samples[: -int(400 / STEP)]
            self._obey(decide(self.rules, self.window()))

    def window(self) -> Window:
        kind = self.rules.kinds[0].name
        asked = [one.at for one in self.samples if one.requests]
        model = ModelNow(
            self.rules.kinds[0].model, self.samples, asked[-1] if asked else 0.0, self.last_served_at
        )
        now = KindNow(kind, self.serving, len(self.loading), len(self.draining))
        return Window(self.now, (model,), (now,))

    def _pass_time(self) -> None:
        ready = [due for due in self.loading if due <= self.now]
        if ready:
            self.serving, self.last_served_at = self.serving + len(ready), self.now
        self.loading = [due for due in self.loading if due > self.now]
        self.draining = [due for due in self.draining if due > self.now]

    def _obey(self, decision: Decision) -> None:
        kind = self.rules.kinds[0]
        self.decisions.append(decision)
        self.loading += [self.now + kind.loading_seconds] * decision.started(kind.name)
        if decision.drain is not None:
            self.serving -= 1
            self.draining.append(self.now + 6.0)

    @property
    def starts(self) -> int:
        return sum(decision.started(self.rules.kinds[0].name) for decision in self.decisions)

    @property
    def drains(self) -> int:
        return sum(decision.drain is not None for decision in self.decisions)
