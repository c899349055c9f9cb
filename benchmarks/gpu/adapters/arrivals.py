"""First audio of clips that name adapters by Zipf's law: parts 3 and 4 of `benchmarks.gpu.adapters`.

In the closed loop (`in_turn`) a clip begins when another one ends. All have the same length, so they begin
together in groups, each of which finds the device idle.

In the open loop (`arriving`) clips arrive at the times of a Poisson process, at a rate at which about as many
run at once, and the same times serve every kind. They are taken as a worker takes them, by `engine.loop`: who
submits prepares the request at once, in another thread than that of the steps, and the engine takes it
when the step under way returns, while the one after it is computed on the device. First audio counts from
the time at which a clip was due to the return of the step that made its first patch.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gpu.work import percentile
from benchmarks.shared.adapter_work import TEXT, Named, Sizes
from engine.loop import EngineLoop
from models.lora.adapter import Adapter
from models.speech import SpeechOutput, SpeechRequest
from models.voxcpm.engine import VoxCPMEngine

PATCHES = 8
FITTINGS = 3
"""Runs from which the rate of arrivals is found."""
KINDS = PLAIN, ZIPF, LATE, SAME = "plain", "by Zipf", "by Zipf, copied at launch", "all the same adapter"
"""Of arrivals; "copied at launch": no copy begins before."""
Names = Sequence[str | None]
"""Of the adapters of clips."""


class Heard(NamedTuple):
    """Seconds from a clip's beginning to its first patch, and to its end."""

    first: float
    whole: float


class Listener:
    """The engine, and when the first patch and the end of each clip were there."""

    def __init__(self, engine: VoxCPMEngine) -> None:
        self._engine = engine
        self._first: dict[str, float] = {}
        self._ended: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def step(self) -> list[SpeechOutput]:
        """Raises RuntimeError where a clip failed."""
        outputs = self._engine.step()
        now = time.perf_counter()
        for output in outputs:
            if output.finish_reason == "error":
                raise RuntimeError(output.error)
            if output.audio.size:
                self._first.setdefault(output.request_id, now)
            if output.finish_reason is not None:
                self._ended[output.request_id] = now
        return outputs

    def heard(self, request_id: str, began: float) -> Heard:
        """Of a clip that has ended; it is forgotten."""
        return Heard(self._first.pop(request_id) - began, self._ended.pop(request_id) - began)


def clip_of(engine: VoxCPMEngine, number: int, adapter: str | None) -> SpeechRequest:
    """All are of the same length."""
    seconds = PATCHES * engine.info.patch_seconds
    return SpeechRequest(
        f"z{number}", TEXT, number, min_seconds=seconds, max_seconds=seconds, adapter=adapter
    )


def in_turn(engine: VoxCPMEngine, names: Names, at_once: int) -> list[Heard]:
    """So many clips run all the time."""
    listener, began = Listener(engine), dict[str, float]()
    waiting = list(enumerate(names))[::-1]
    running = 0
    while waiting or running:
        while waiting and running < at_once:
            request = clip_of(engine, *waiting.pop())
            began[request.request_id] = time.perf_counter()
            engine.add_request(request)
            running += 1
        running -= sum(output.finish_reason is not None for output in listener.step())
    return [listener.heard(*clip) for clip in began.items()]


@contextmanager
def serving(engine: VoxCPMEngine) -> Iterator[EngineLoop]:
    """Its loop as a worker has it, with a listener as its engine."""
    loop = EngineLoop(Listener(engine))
    loop.start()
    try:
        yield loop
    finally:
        loop.close()


def arriving(loop: EngineLoop, names: Names, moments: Sequence[float]) -> list[Heard]:
    """Clips that arrive at `moments`, in seconds from now."""
    listener, began = loop.engine, time.perf_counter()
    streams = []
    for number, (name, moment) in enumerate(zip(names, moments, strict=True)):
        time.sleep(max(0.0, began + moment - time.perf_counter()))
        streams.append(loop.submit(clip_of(listener, number, name)))
    for stream in streams:
        for _ in stream:
            pass
    return [
        listener.heard(stream.request_id, began + moment)
        for stream, moment in zip(streams, moments, strict=True)
    ]


def register(engine: VoxCPMEngine, of: list[Adapter], sizes: Sizes) -> None:
    """Many adapters by name, which share the memory of a few: a thousand different ones would be 36 GB."""
    pool, load = engine.adapters, engine.adapters._load
    forms = [load(adapter) for adapter in of]

    def another(adapter: Adapter) -> Any:
        number = int(adapter.digest.removeprefix("many"))
        return dataclasses.replace(forms[number % len(forms)], digest=adapter.digest)

    pool._load = another
    for number in range(sizes.registered):
        pool.add(f"many{number}", Named(of[0], f"many{number}"))
    pool._load = load


def by_zipf(sizes: Sizes, draw: np.random.Generator) -> list[str]:
    """The adapters of so many clips."""
    weights = 1 / np.arange(1, sizes.registered + 1)
    ranks = draw.choice(sizes.registered, sizes.clips, p=weights / weights.sum())
    return [f"many{rank}" for rank in ranks]


class Copies:
    """To slots, since this was made: how many, and how many of them before a launch asked."""

    def __init__(self, engine: VoxCPMEngine) -> None:
        self._bank = engine._runner.adapters
        self._before = self._counted()

    def _counted(self) -> tuple[int, int]:
        return (self._bank.num_copies, self._bank.num_fetched) if self._bank else (0, 0)

    def table(self) -> Counter[str]:
        copies, early = (now - before for now, before in zip(self._counted(), self._before, strict=True))
        return Counter({"copies": copies, "copied_early": early, "copied_at_launch": copies - early})


@contextmanager
def nothing_early(engine: VoxCPMEngine) -> Iterator[None]:
    """Within, adapters are copied when a launch asks for them, not when their requests are taken."""
    bank = engine._runner.adapters
    if bank is None:
        yield
        return
    bank.fetch = lambda adapter: None
    try:
        yield
    finally:
        del bank.fetch


def milliseconds(heard: list[Heard], share: float) -> float:
    """Of first audio."""
    return round(1e3 * percentile([clip.first for clip in heard], share), 2)


def zipf(engine: VoxCPMEngine, sizes: Sizes) -> dict[str, Any]:
    """In the closed loop, beside the same clips without adapters, and with one adapter for all."""
    names = by_zipf(sizes, np.random.default_rng(0))
    in_turn(engine, names[: 2 * sizes.slots], sizes.at_once)
    in_turn(engine, [None] * (2 * sizes.at_once), sizes.at_once)
    copies = Copies(engine)
    adapted = in_turn(engine, names, sizes.at_once)
    counted = copies.table()
    plain = in_turn(engine, [None] * sizes.clips, sizes.at_once)
    one = in_turn(engine, ["many0"] * sizes.clips, sizes.at_once)
    medians = [milliseconds(heard, 0.5) for heard in (plain, adapted, one)]
    return {
        "registered": sizes.registered, "slots": sizes.slots, "clips": sizes.clips, "at_once": sizes.at_once,
        "different": len(set(names)), **counted, "first_audio_ms_p50": medians[0],
        "by_zipf_ms_p50": medians[1], "all_the_same_adapter_ms_p50": medians[2],
        "by_zipf_ms_p99": milliseconds(adapted, 0.99), "plain_ms_p99": milliseconds(plain, 0.99),
        "ratio": round(medians[1] / medians[0], 3),
    }  # fmt: skip


class Arrived(NamedTuple):
    """Clips of one kind in one round, the seconds from the first arrival to the last, and copies to slots."""

    kind: str
    heard: list[Heard]
    seconds: float
    copies: Counter[str]


def moments_of(sizes: Sizes, rate: float, draw: np.random.Generator) -> list[float]:
    """A Poisson process, in seconds."""
    return np.cumsum(draw.exponential(1 / rate, sizes.clips)).tolist()


def rate_for(loop: EngineLoop, sizes: Sizes, clip_seconds: float) -> float:
    """Arrivals a second with which about `at_once` clips run.

    clip_seconds: of a clip in the closed loop. There prompts are computed together; those that arrive make
    the steps of others longer.
    """
    plain, rate = [None] * sizes.clips, sizes.at_once / clip_seconds
    for seed in range(FITTINGS):
        moments = moments_of(sizes, rate, np.random.default_rng(seed))
        running = sum(clip.whole for clip in arriving(loop, plain, moments)) / moments[-1]
        rate *= sizes.at_once / running
    return rate


def rounds_of(engine: VoxCPMEngine, loop: EngineLoop, sizes: Sizes, rate: float) -> Iterator[Arrived]:
    """In each round every kind has the same arrivals."""
    for seed in range(sizes.rounds):
        draw = np.random.default_rng(seed)
        moments, names = moments_of(sizes, rate, draw), by_zipf(sizes, draw)
        kinds: dict[str, Names] = {PLAIN: [None] * sizes.clips, ZIPF: names, LATE: names}
        kinds[SAME] = ["many0"] * sizes.clips
        for kind, adapters in kinds.items():
            copies = Copies(engine)
            with nothing_early(engine) if kind == LATE else nullcontext():
                heard = arriving(loop, adapters, moments)
            yield Arrived(kind, heard, moments[-1], copies.table())


def arrivals(engine: VoxCPMEngine, sizes: Sizes) -> dict[str, Any]:
    """In the open loop, about as many at once as in the closed one."""
    alone = in_turn(engine, [None] * sizes.clips, sizes.at_once)
    heard, copies = defaultdict[str, list[Heard]](list), defaultdict[str, Counter[str]](Counter)
    seconds = 0.0
    with serving(engine) as loop:
        rate = rate_for(loop, sizes, percentile([clip.whole for clip in alone], 0.5))
        for part in rounds_of(engine, loop, sizes, rate):
            heard[part.kind] += part.heard
            copies[part.kind].update(part.copies)
            seconds += part.seconds / len(KINDS)
    p50, p99 = ({kind: milliseconds(clips, share) for kind, clips in heard.items()} for share in (0.5, 0.99))
    running = {kind: sum(clip.whole for clip in clips) / seconds for kind, clips in heard.items()}
    return {
        "clips": sizes.clips * sizes.rounds, "arrivals_per_second": round(rate, 2),
        "running": {kind: round(count, 1) for kind, count in running.items()},
        "first_audio_ms_p50": p50, "first_audio_ms_p99": p99, "ratio": round(p50[ZIPF] / p50[PLAIN], 3),
        "ratio_p99": round(p99[ZIPF] / p99[PLAIN], 3), **copies[ZIPF],
    }  # fmt: skip
