"""Too many requests: goodput and rejections at three times the capacity, and fairness between tenants.

Load is open-loop: arrivals follow a Poisson process whether or not earlier requests were answered.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.shared.fleet import Fleet
from benchmarks.shared.http_client import Answer, exchange, post_tts
from benchmarks.shared.speech_clients import listen_directly, percentile, text_of


async def overload(
    *, seconds: float = 60.0, factor: float = 3.0, slots: int = 20, patches: int = 25, seed: int = 1
) -> dict[str, Any]:
    """Goodput against what the same workers serve directly, and how rejections are told."""
    answers: list[Answer] = []
    completed_at: list[float] = []
    lags: list[float] = []
    loop = asyncio.get_running_loop()
    raw = post_tts({"text": text_of(patches), "format": "pcm", "seed": seed})

    async def ask(port: int) -> None:
        answer = await exchange(port, raw)
        answers.append(answer)
        if answer.status == 200:
            completed_at.append(loop.time())

    async with Fleet(slots=slots, max_queue=2 * 3 * slots) as fleet:
        capacity = await _direct_capacity(fleet, patches, seconds=seconds / 3)
        began = loop.time()
        lag = asyncio.create_task(_own_lag(lags))
        await arrive(factor * capacity, seconds, random.Random(seed), lambda: ask(fleet.gateway.port))
        lag.cancel()
        held = await fleet.until_idle()
    warm_up = min(5.0, seconds / 4)
    counted = [at for at in completed_at if warm_up <= at - began <= seconds]
    rejections = [answer for answer in answers if answer.status != 200]
    with_retry = [
        a for a in rejections if a.status in (429, 503) and int(a.headers.get("retry-after", 0)) >= 1
    ]
    goodput = len(counted) / (seconds - warm_up)
    return {
        "capacity_per_second": round(capacity, 2),
        "goodput_share": round(goodput / capacity, 4),
        "requests": len(answers),
        "rejected": len(rejections),
        "rejected_with_retry_after": len(with_retry),
        "rejection_ms_p50": round(1000 * percentile([a.seconds for a in rejections], 50), 2),
        "rejection_ms_p95": round(1000 * percentile([a.seconds for a in rejections], 95), 2),
        "rejection_ms_p99": round(1000 * percentile([a.seconds for a in rejections], 99), 2),
        "generator_lag_ms_p99": round(1000 * percentile(lags, 99), 2),
        "queue_seconds_max": round(
            max(float(a.headers["x-queue-seconds"]) for a in answers if a.status == 200), 2
        ),
        "held_after": held,
    }


async def _own_lag(lags: list[float]) -> None:
    """How late this process itself is, in seconds: what part of a latency is not the gateway's."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + 0.01
        await asyncio.sleep(0.01)
        lags.append(loop.time() - due)


async def _direct_capacity(fleet: Fleet, patches: int, seconds: float) -> float:
    """Requests a second that the workers serve when every slot always has a client, without the gateway."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    text, served = text_of(patches), []

    async def client(port: int, number: int) -> None:
        while loop.time() < until:
            await listen_directly(port, f"capacity-{number}", text, seed=number)
            served.append(loop.time())

    per_worker = fleet.slots // len(fleet.workers)
    began = loop.time()
    await asyncio.gather(*(client(worker.port, n) for worker in fleet.workers for n in range(per_worker)))
    in_time = [at for at in served if at <= until]
    whole_rounds = max(1, len(in_time) // fleet.slots)
    return whole_rounds * fleet.slots / (sorted(served)[whole_rounds * fleet.slots - 1] - began)


async def arrive(
    rate: float, seconds: float, draw: random.Random, ask: Callable[[], Awaitable[None]]
) -> None:
    """Call `ask` at Poisson times of that rate and wait for all that was begun."""
    loop = asyncio.get_running_loop()
    began = at = loop.time()
    asked = []
    while (at := at + draw.expovariate(rate)) < began + seconds:
        await asyncio.sleep(max(0.0, at - loop.time()))
        asked.append(asyncio.ensure_future(ask()))
    await asyncio.gather(*asked)


async def tenants(
    *, seconds: float = 90.0, slots: int = 4, patches: int = 25, ageing_seconds: float = 30.0, seed: int = 1
) -> dict[str, Any]:
    """Tenant A offers ten times what B does, B alone three quarters of the capacity, and C a little bulk."""
    keys = {name: {"key": f"{name}-benchmark-key-0123"} for name in "abc"}
    capacity = 3 * slots / (patches * 0.040)
    rates = {"a": 7.5 * capacity, "b": 0.75 * capacity, "c": 0.04 * capacity}
    audio: dict[str, float] = defaultdict(float)
    waits: dict[str, list[float]] = defaultdict(list)
    statuses: dict[str, int] = defaultdict(int)
    loop = asyncio.get_running_loop()
    settings = {"api_keys": json.dumps(keys), "bulk_ageing_seconds": ageing_seconds, "max_queue": 40 * slots}
    async with Fleet(slots=slots, **settings) as fleet:
        began = loop.time()

        async def ask(name: str) -> None:
            request = {
                "text": text_of(patches),
                "format": "pcm",
                "priority": "bulk" if name == "c" else "default",
            }
            raw = post_tts(request, {"X-API-Key": keys[name]["key"]})
            answer = await exchange(fleet.gateway.port, raw)
            statuses[f"{name} {answer.status}"] += 1
            if answer.status == 200:
                waits[name].append(float(answer.headers["x-queue-seconds"]))
                if loop.time() < began + seconds:
                    audio[name] += float(answer.headers["x-audio-seconds"])

        await asyncio.gather(
            *(arrive(rate, seconds, random.Random(f"{seed}{name}"), lambda name=name: ask(name))
              for name, rate in rates.items())
        )  # fmt: skip
        held = await fleet.until_idle()
    both = (audio["a"], audio["b"])
    return {
        "jain_index": round(sum(both) ** 2 / (2 * sum(amount**2 for amount in both)), 4),
        "audio_seconds": {name: round(audio[name], 1) for name in sorted(audio)},
        "wait_seconds_p95": {name: round(percentile(waits[name], 95), 2) for name in sorted(waits)},
        "bulk_wait_seconds_max": round(max(waits["c"], default=math.nan), 2),
        "answers": dict(sorted(statuses.items())),
        "held_after": held,
    }
