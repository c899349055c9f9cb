"""What listeners notice of faults: real gateways and workers, killed, stopped, cut off and restarted.

    python -m benchmarks.chaos                               everything, about five minutes
    python -m benchmarks.chaos --scenario kill --requests 200 --seed 7
    python -m benchmarks.chaos --scenario lost --device cuda:0 --device cuda:1

Unless said otherwise: 3 synthetic workers of 20 slots, clips of 25 patches of 40 ms each, 40 clients. Prints
JSON. "lost" is a request without its end, "wrong" one with a byte that the model does not owe; pauses are the
seconds from a fault to the first audio from another worker, at the client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chaos.bundled import bundled_voice
from benchmarks.chaos.fleet import RESTART_SECONDS, ChaosFleet, Fault
from benchmarks.chaos.listeners import Heard, load, pauses

SLOTS, STEP_MS, PATCHES, CLIENTS = 20, 40.0, 25, 40


@dataclass(frozen=True)
class Size:
    """How much of a scenario is run; the suite runs little."""

    requests: int
    clients: int = CLIENTS
    patches: int = PATCHES
    step_ms: float = STEP_MS
    fault_every_seconds: float = 5.0
    pause_seconds: float = 2.0
    """How long a stopped worker stays stopped."""
    devices: tuple[str, ...] = ("cpu",)
    """Of the workers of the bundled voice."""


async def under_load(
    fleet: ChaosFleet, size: Size, seed: int, trouble: Callable[[], Awaitable[None]], *, resume: bool = False
) -> list[Heard]:
    """The load, with `trouble` repeated beside it until the load is done."""

    async def repeat() -> None:
        while True:
            await trouble()

    troubling = asyncio.create_task(repeat())
    try:
        return await load(fleet.urls, size.requests, size.clients, size.patches, seed, resume=resume)
    finally:
        troubling.cancel()
        done = await asyncio.gather(troubling, return_exceptions=True)
        if not isinstance(done[0], asyncio.CancelledError):
            raise done[0]


def fleet_of(size: Size, seed: int, **options: Any) -> ChaosFleet:
    return ChaosFleet(slots=SLOTS, step_ms=size.step_ms, seed=seed, **options)


def verdict(heard: Sequence[Heard]) -> dict[str, Any]:
    """What became of the requests."""
    served = [one for one in heard if one.error is None]
    return {
        "requests": len(heard),
        "lost": len(heard) - len(served),
        "wrong": sum(not one.is_right() for one in served),
        "migrations": sum(one.migrations for one in served),
        "errors": dict(Counter(one.error for one in heard if one.error is not None)),
    }


def distribution(seconds: Sequence[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    if not seconds:
        return {"count": 0}
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    return {
        "count": len(seconds), "p50_ms": round(p50, 1), "p99_ms": round(p99, 1),
        "max_ms": round(max(seconds) * 1000, 1),
    }  # fmt: skip


async def kill(size: Size, seed: int) -> dict[str, Any]:
    """A worker is killed every five seconds and started again by its supervisor."""
    faults: list[Fault] = []
    async with fleet_of(size, seed) as fleet:
        began = time.perf_counter()

        async def trouble() -> None:
            await asyncio.sleep(size.fault_every_seconds * (len(faults) + 1) - (time.perf_counter() - began))
            index = fleet.draw.randrange(fleet.workers)
            faults.append(await fleet.kill_worker(index))
            await asyncio.sleep(RESTART_SECONDS)
            fleet.restart_worker(index)
            await fleet.until_serving()

        heard = await under_load(fleet, size, seed, trouble)
    return verdict(heard) | {"kills": len(faults), "pauses": distribution(pauses(heard, faults))}


async def stop(size: Size, seed: int) -> dict[str, Any]:
    """A worker is stopped for two seconds, then wakes up with frames that nobody wants any more."""
    faults: list[Fault] = []
    async with fleet_of(size, seed) as fleet:

        async def trouble() -> None:
            await asyncio.sleep(size.fault_every_seconds - size.pause_seconds)
            index = fleet.draw.randrange(fleet.workers)
            faults.append(await fleet.pause_worker(index))
            await asyncio.sleep(size.pause_seconds)
            fleet.continue_worker(index)
            await fleet.until_serving()

        heard = await under_load(fleet, size, seed, trouble)
    return verdict(heard) | {"stops": len(faults), "pauses": distribution(pauses(heard, faults))}


async def refuse(size: Size, seed: int) -> dict[str, Any]:
    """One of three workers takes no connection any more, and a burst of requests comes at the same moment."""
    async with fleet_of(size, seed) as fleet:
        await fleet.proxies[0].refuse()
        fleet.proxies[0].cut()
        heard = await load(fleet.urls, size.requests, size.requests, size.patches, seed)
    return verdict(heard)


async def network(size: Size, seed: int) -> dict[str, Any]:
    """Between gateway and workers, data is delayed and changed, and connections stall or are reset."""
    done: Counter[str] = Counter()
    async with fleet_of(size, seed) as fleet:

        async def trouble() -> None:
            await asyncio.sleep(size.fault_every_seconds)
            proxy = fleet.draw.choice(fleet.proxies)
            fault = fleet.draw.choice(("cut", "corrupt", "delay", "stall"))
            done[fault] += 1
            if fault == "cut":
                proxy.cut()
            elif fault == "corrupt":
                proxy.corrupt_next()
            elif fault == "delay":
                proxy.delay_seconds = 0.02
                await asyncio.sleep(size.fault_every_seconds)
                proxy.delay_seconds = 0.0
            else:
                proxy.stall()
                await asyncio.sleep(1.0)
                proxy.flow()

        heard = await under_load(fleet, size, seed, trouble)
    return verdict(heard) | {"faults": dict(done)}


async def rolling(size: Size, seed: int) -> dict[str, Any]:
    """All workers are restarted, one after the other, again and again."""
    restarts = 0
    async with fleet_of(size, seed) as fleet:

        async def trouble() -> None:
            nonlocal restarts
            for index in range(fleet.workers):
                await fleet.end_worker(index)
                fleet.restart_worker(index)
                await fleet.until_serving()
                restarts += 1

        heard = await under_load(fleet, size, seed, trouble)
    return verdict(heard) | {"restarts": restarts}


async def gateways(size: Size, seed: int) -> dict[str, Any]:
    """One of two gateways is killed, now this, now that one; clients hold resume tokens."""
    kills = 0
    settings = {"resume_secret": "known to both gateways"}
    async with fleet_of(size, seed, gateways=2, gateway_settings=settings) as fleet:

        async def trouble() -> None:
            nonlocal kills
            await asyncio.sleep(size.fault_every_seconds)
            fleet.kill_gateway(kills % 2)
            await asyncio.sleep(RESTART_SECONDS)
            fleet.restart_gateway(kills % 2)
            kills += 1
            await fleet.until_serving()

        heard = await under_load(fleet, size, seed, trouble, resume=True)
    result = verdict(heard) | {"kills": kills, "resumed": sum(one.reconnections > 0 for one in heard)}
    result["complete_and_exact"] = 1.0 - (result["lost"] + result["wrong"]) / result["requests"]
    return result


async def bundled(size: Size, seed: int) -> dict[str, Any]:
    """A worker of the bundled voice is killed in mid-sentence."""
    return await bundled_voice(seed, size.requests, size.devices)


async def lost(size: Size, seed: int) -> dict[str, Any]:
    """A worker of the bundled voice loses its device in mid-sentence."""
    return await bundled_voice(seed, size.requests, size.devices, losing=True)


Scenario = Callable[[Size, int], Awaitable[dict[str, Any]]]
SCENARIOS: dict[str, tuple[Scenario, Size]] = {
    "kill": (kill, Size(2000)),
    "stop": (stop, Size(600, fault_every_seconds=4.0)),
    "refuse": (refuse, Size(200)),
    "network": (network, Size(600, fault_every_seconds=0.7)),
    "rolling": (rolling, Size(1000)),
    "gateways": (gateways, Size(1000, fault_every_seconds=6.0)),
    "bundled": (bundled, Size(3)),
    "lost": (lost, Size(3)),
}


async def run(
    names: Sequence[str], seed: int, requests: int | None = None, devices: Sequence[str] = ("cpu",)
) -> dict[str, Any]:
    """The scenarios one after the other."""
    results: dict[str, Any] = {
        "machine": {
            "cpus": os.cpu_count(),
            "platform": platform.platform(),
            "load_before": os.getloadavg()[0],
        },
        "seed": seed,
    }
    for name in names:
        scenario, size = SCENARIOS[name]
        size = replace(size, requests=requests or size.requests, devices=tuple(devices))
        results[name] = await scenario(size, seed)
        print(json.dumps({name: results[name]}), file=sys.stderr)
    return results


def main() -> int:
    """0 when nothing was lost or wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenario", action="append", choices=sorted(SCENARIOS), help="may be given again")
    parser.add_argument("--requests", type=int, help="instead of the scenario's own number")
    parser.add_argument("--device", action="append", help="of workers of the bundled voice, in turn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="write the JSON here too")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the fleet is ended too
    results = asyncio.run(
        run(options.scenario or list(SCENARIOS), options.seed, options.requests, options.device or ["cpu"])
    )
    text = json.dumps(results, indent=2)
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")
    scenarios = [result for result in results.values() if isinstance(result, dict)]
    return 1 if any(result.get("lost") or result.get("wrong") for result in scenarios) else 0


if __name__ == "__main__":
    sys.exit(main())
